use std::fmt;
use std::sync::Arc;

use opscope_onnx::Operator;

use super::Position;

/// A choice among the tensors of an open model, whose operators are not known before they are executed.
///
/// It is asked about every operator that is executed, in that order, whether or not the operator has such a tensor.
#[derive(Clone)]
pub struct Chooser(Arc<Wants>);

type Wants = dyn Fn(&Operator, Position) -> bool + Send + Sync;

impl Chooser {
    /// Creates a choice by a function that returns whether a tensor is wanted. It must always return the same for the
    /// same operator.
    pub fn new(wants: impl Fn(&Operator, Position) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(wants))
    }

    /// Returns whether the tensor at this position is wanted.
    pub fn wants(&self, operator: &Operator, position: Position) -> bool {
        (self.0)(operator, position)
    }
}

impl fmt::Debug for Chooser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Chooser")
    }
}
