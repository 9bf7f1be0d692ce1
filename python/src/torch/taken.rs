//! What operators take: copies from before they are executed.

use opscope::tensor::Tensor;
use opscope_torch::{Shown, Strided, Taken};
use pyo3::prelude::*;

use super::tensors::{Reader, Want};

/// Copies of the tensors that an operator is about to take, each with the tensor. `None` is one whose elements cannot
/// be read. An operator may write to what it takes, and the schemas of some do not say so, such as that of batch
/// normalisation.
///
/// They are no tensors of PyTorch's, because other modes would see operators that make these.
#[derive(Default)]
pub struct Before<'py>(Vec<(Bound<'py, PyAny>, Option<Tensor>)>);

impl<'py> Before<'py> {
    /// Copies what an operator is about to take.
    pub fn copy(reader: &Reader, taken: Vec<Bound<'py, PyAny>>) -> Self {
        let copy = |tensor: Bound<'py, PyAny>| {
            let copy = match reader.read(&tensor, Want::All).shown() {
                Shown::Tensor { tensor, .. } => tensor.view().to_tensor().ok(),
                _ => None,
            };
            (tensor, copy)
        };
        Self(taken.into_iter().map(copy).collect())
    }

    /// Returns a tensor as one that was taken, with the elements that it had before.
    pub fn with_copy<'a>(&'a self, tensor: &Bound<'py, PyAny>, taken: Taken<'a>) -> Taken<'a> {
        let Some((_, copy)) = self.0.iter().find(|(known, _)| known.is(tensor)) else { return taken };
        Taken { tensor: copy.as_ref().map(Strided::row_major), ..taken }
    }
}
