use std::collections::BTreeSet;

use super::tensor_ref::{TensorPart, TensorRef};
use super::tree::Subject;

/// The tensors that a condition reads. They decide whether a breakpoint stops before or after an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whether it has a function without an argument, which reads all tensors of the side at which the run is stopped.
    pub stopped: bool,
    /// Whether it reads an input of the operator by its slot.
    pub inputs: bool,
    /// Whether it reads an output of the operator by its slot, which exists only after the operator.
    pub outputs: bool,
    /// Whether it reads a weight of the operator.
    pub weights: bool,
    /// The values of the run that it reads by name.
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
