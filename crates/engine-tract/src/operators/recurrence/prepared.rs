//! Weights as the steps need them. They are made in the first run, and made anew where another run gets other tensors.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use tract_onnx::prelude::Tensor;
use tract_onnx::tract_core::internal::TractResult;

use super::products::Weights;

/// What one direction is computed with.
#[derive(Debug)]
pub(super) struct Direction {
    pub w: Weights,
    pub r: Weights,
    /// Of a GRU that is reset before its product (`linear_before_reset` is 0): the weights of the new state.
    pub r_of_new: Option<Weights>,
    /// The bias of the input and of the state, for each column; and their sum.
    pub biases: [Vec<f32>; 2],
    pub bias: Vec<f32>,
    /// For the input, output and forget gates.
    pub peepholes: Option<Vec<f32>>,
}

/// The tensors that it was made from, and the result.
type Made = (Vec<Weak<Tensor>>, Arc<Vec<Direction>>);

/// The last result.
#[derive(Debug, Clone, Default)]
pub(super) struct Prepared(Arc<Mutex<Option<Made>>>);

impl PartialEq for Prepared {
    /// It changes how fast an operator computes, not what.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Prepared {
    /// Returns the last result, if it was made from these tensors, or a new one.
    pub(super) fn of(
        &self,
        tensors: &[&Arc<Tensor>],
        make: impl FnOnce() -> TractResult<Vec<Direction>>,
    ) -> TractResult<Arc<Vec<Direction>>> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((from, made)) = &*last {
            // A tensor that is still there was not written to: nobody owns it alone.
            let is_same = |(from, tensor): (&Weak<Tensor>, &&Arc<Tensor>)| Weak::as_ptr(from) == Arc::as_ptr(tensor);
            if from.len() == tensors.len() && from.iter().zip(tensors).all(is_same) {
                return Ok(made.clone());
            }
        }
        let made = Arc::new(make()?);
        *last = Some((tensors.iter().map(|tensor| Arc::downgrade(tensor)).collect(), made.clone()));
        Ok(made)
    }
}
