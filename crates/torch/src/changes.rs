//! What instruments change of an operator.

use opscope_tensor::{Tensor, TensorView};

/// What the instruments change of an operator that is about to be executed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// The tensors that it takes instead of those that it was given, by slot.
    pub inputs: Vec<(usize, Tensor)>,
    /// The tensors that its outputs are, instead of those that it will compute. The program executes it nevertheless,
    /// because nothing else knows what it writes to.
    pub outputs: Option<Vec<Tensor>>,
}

/// Returns the tensors that differ from those that are there, by slot. An instrument gives all of them.
pub(crate) fn different(tensors: Vec<Tensor>, there: &[TensorView<'_>]) -> Vec<(usize, Tensor)> {
    let differs = |(slot, tensor): &(usize, Tensor)| {
        there.get(*slot).is_some_and(|view| view.to_tensor().is_ok_and(|now| now != *tensor))
    };
    tensors.into_iter().enumerate().filter(differs).collect()
}
