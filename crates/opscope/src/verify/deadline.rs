use std::time::Instant;

use opscope_model::{Action, Dispatch, Interest, KernelSet, RunObserver};
use opscope_tensor::TensorView;

/// Stops a run between two operators when a deadline has passed.
pub(super) struct Deadline(pub Option<Instant>);

impl Deadline {
    pub fn has_passed(&self) -> bool {
        self.0.is_some_and(|deadline| Instant::now() > deadline)
    }
}

impl RunObserver for Deadline {
    fn interest(&self) -> Interest {
        let before = if self.0.is_some() { KernelSet::All } else { KernelSet::Empty };
        Interest { before, ..Interest::default() }
    }

    fn before(&self, _dispatch: &Dispatch<'_>, _inputs: &[TensorView<'_>]) -> Action {
        if self.has_passed() { Action::Stop("the deadline has passed".to_owned()) } else { Action::Continue }
    }
}
