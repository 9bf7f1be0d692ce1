use opscope_onnx::{OperatorId, ValueId};
use opscope_tensor::DType;

/// A kernel of a [`Plan`](crate::Plan): its place in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId(u32);

/// One step of a plan. Each run executes every kernel once, in order; each execution is a dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Its id.
    pub id: KernelId,
    /// The engine's own name for this step.
    pub name: String,
    /// What the engine executes, in its own words (`OptMatMul`, `Conv`, ...).
    pub op: String,
    /// The operators of the file that this step stands for; the first is the one its time counts for. Never empty.
    pub operators: Vec<Attribution>,
    /// Inputs by the engine's slot: the value of the file that arrives there, where it is one.
    pub inputs: Vec<KernelInput>,
    /// Outputs by the engine's slot: the values of the file that are this output, to the last element. Empty for what
    /// exists only inside of the engine.
    pub outputs: Vec<Vec<ValueId>>,
    /// For each output that is no value of the file as it stands, the value whose elements it holds in another shape or
    /// order, where that is known.
    pub holds: Vec<Option<ValueId>>,
    /// Types and shapes of the inputs, by the engine's slot.
    pub input_types: Vec<TensorType>,
    /// Types and shapes of the outputs, by the engine's slot.
    pub output_types: Vec<TensorType>,
}

/// The type and shape of a tensor inside of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorType {
    /// The type of its elements; none for types of the engine's own, such as packed matrices.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// What arrives in an input slot of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelInput {
    /// The value of the file, where it is one.
    pub value: Option<ValueId>,
    /// Whether it is the same in every run (a weight).
    pub constant: bool,
}

/// An operator that a kernel stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribution {
    /// The operator.
    pub operator: OperatorId,
    /// Whether the engine says so; otherwise it was inferred from the graph.
    pub exact: bool,
}

impl KernelId {
    /// The id with this index.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The index in [`Plan::kernels`](crate::Plan::kernels).
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Kernel {
    /// The operator that this kernel's time counts for.
    pub fn operator(&self) -> OperatorId {
        self.operators[0].operator
    }
}
