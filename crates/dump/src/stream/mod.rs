//! A tensor on its way to a sink.

pub(crate) mod outcome;
pub(crate) mod sink;

use std::fmt;
use std::sync::Arc;

use opscope_model::{Iteration, LoopIteration, RunId};
use opscope_onnx::{Graph, Operator, OperatorId, ValueId};
use opscope_tensor::DType;

/// The origin of a captured tensor.
#[derive(Clone)]
pub struct Origin {
    /// The model's graph.
    pub graph: Arc<Graph>,
    /// The number of the dumper's plan, from 0. There is one plan per model and combination of input shapes.
    pub plan: usize,
    /// The run; `None` for a value that is the same in every run because it was computed when the model was loaded.
    pub run: Option<RunId>,
    /// The operator.
    pub operator: OperatorId,
    /// For an operator in the body of another one, the iterations in which it was executed, outermost first.
    pub path: Box<[Iteration]>,
    /// Whether the tensor is an input or an output of the operator.
    pub io: Io,
    /// The operator's input or output slot.
    pub slot: usize,
    /// The value of the graph that the tensor is.
    pub value: ValueId,
}

/// Whether a tensor is an input or an output of an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Io {
    /// An input of the operator.
    Input,
    /// An output of the operator.
    Output,
}

/// A tensor on its way to a sink: what is known of it before its first piece.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Where it comes from.
    pub origin: Origin,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The total size of all pieces in bytes.
    pub bytes: u64,
    /// How many tensors of this operator were selected in this run and in this iteration of a body, including this one.
    /// Fewer may be delivered, because a selection may also depend on the data, and tensors can be missing.
    pub siblings: usize,
}

/// A slice of a stream. The bytes are borrowed for the duration of the call.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// Its offset in the tensor in bytes.
    pub offset: u64,
    /// The data: whole elements, little-endian, row-major. Empty only for a tensor without elements.
    pub bytes: &'a [u8],
    /// Whether it is the last one. Every stream that is not broken off has exactly one last piece.
    pub last: bool,
}

/// A tensor that was selected but not delivered.
#[derive(Debug, Clone)]
pub struct Missing {
    /// The tensor.
    pub origin: Origin,
    /// Why.
    pub reason: String,
}

impl Origin {
    /// Returns the operator.
    pub fn operator(&self) -> &Operator {
        self.graph.operator(self.operator)
    }

    /// Returns the iterations of loops on its path.
    pub fn iterations(&self) -> Vec<LoopIteration> {
        LoopIteration::on(&self.path, &self.graph)
    }

    /// Returns the value's name in the file.
    pub fn value_name(&self) -> &str {
        &self.graph.value(self.value).name
    }
}

impl Io {
    /// `input` or `output`.
    pub fn name(self) -> &'static str {
        match self {
            Io::Input => "input",
            Io::Output => "output",
        }
    }
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Omits the graph, which is long.
impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Origin({self})")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Origin { io, slot, .. } = self;
        let indices = LoopIteration::indices(&self.iterations());
        write!(f, "'{}' ({io} {slot} of operator '{}{indices}'", self.value_name(), self.operator().name)?;
        match self.run {
            Some(run) => write!(f, ", run {})", run.0),
            None => write!(f, ")"),
        }
    }
}
