use std::collections::BTreeSet;

use super::tensor_ref::{TensorPart, TensorRef};
use super::tree::Subject;

/// The tensors that a condition reads. A breakpoint chooses by it whether it stops before or after an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whether it reads all tensors of the side at which the run is stopped: it has a function without an argument.
    pub stopped: bool,
    /// An input of the operator, by its slot.
    pub inputs: bool,
    /// An output of the operator, by its slot: it is there after the operator only.
    pub outputs: bool,
    /// A weight of the operator.
    pub weights: bool,
    /// Values of the run, by their names.
    pub values: BTreeSet<String>,
}

impl Needs {
    pub(super) fn add(&mut self, subject: &Subject) {
        match subject {
            Subject::Stopped => self.stopped = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Input(_), .. }) => self.inputs = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Output(_), .. }) => self.outputs = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Weight(_), .. }) => self.weights = true,
            Subject::Tensor(TensorPart { tensor: TensorRef::Value(name), .. }) => {
                self.values.insert(name.clone());
            }
        }
    }
}
