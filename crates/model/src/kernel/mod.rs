//! Kernels: what a plan executes, and sets of them.

mod cost;
mod credit;
mod live_mask;

use opscope_onnx::{OperatorId, ValueId};
use opscope_tensor::DType;

pub use self::cost::kernel_costs;
pub use self::credit::{LAYOUT_OPERATORS, changes_layout, is_matrix_operator, nearest_before, place_the_rest};
pub use self::live_mask::LiveMask;
pub use live_mask::KernelSet;

/// The id of a kernel, which is its position in the execution order of a [`Plan`](crate::Plan).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelId(u32);

/// The unit of execution of a plan. Each run executes every kernel once, in order. Each execution is a dispatch. A
/// kernel in the body of an `If`, a `Loop` or a `Scan` is executed once per iteration, which is part of
/// [`Dispatch::path`](crate::Dispatch::path).
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Its id.
    pub id: KernelId,
    /// The engine's own name for it.
    pub name: String,
    /// The engine's name for the operation (`OptMatMul`, `Conv`, ...).
    pub op: String,
    /// The operators of the file that this kernel stands for. Its time counts for the first of them. Empty for a kernel
    /// that the engine adds on its own, such as a conversion between layouts or a copy between devices. The time of
    /// such a kernel counts for no operator.
    pub operators: Vec<Attribution>,
    /// The inputs, by the engine's slot.
    pub inputs: Vec<KernelInput>,
    /// For each output slot of the engine, the values of the file that are equal to this output in every element. Empty
    /// for an output that exists only inside the engine.
    pub outputs: Vec<Vec<ValueId>>,
    /// For each output slot: if the output is not itself a value of the file, the value whose elements it holds in
    /// another shape or order, or `None` if that is not known.
    pub holds: Vec<Option<ValueId>>,
    /// The types and shapes of the inputs, by the engine's slot.
    pub input_types: Vec<TensorType>,
    /// The types and shapes of the outputs, by the engine's slot.
    pub output_types: Vec<TensorType>,
}

/// The type and shape of a tensor in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorType {
    /// The type of its elements. `None` for the engine's own types, such as packed matrices, and if the shape is known
    /// only in a run.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
}

/// An input slot of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelInput {
    /// The value of the file that the slot takes, or `None` if it takes a tensor of the engine's own.
    pub value: Option<ValueId>,
    /// Whether it is the same in every run (a weight).
    pub constant: bool,
}

/// An operator that a kernel stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribution {
    /// The operator.
    pub operator: OperatorId,
    /// Whether the engine states this. If not, it was inferred from the graph.
    pub exact: bool,
}

impl KernelId {
    /// Creates the id with this index.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// Returns the index in [`Plan::kernels`](crate::Plan::kernels).
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Kernel {
    /// Returns the operator that this kernel's time counts for, or `None` if the engine added the kernel.
    pub fn operator(&self) -> Option<OperatorId> {
        self.operators.first().map(|first| first.operator)
    }
}
