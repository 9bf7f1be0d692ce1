//! When a search ends before it is done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use opscope::{Inference, Session};
use opscope_model::{
    Action, Dispatch, EngineError, Fidelity, Interest, KernelSet, NoObserver, Plan, RunId, RunObserver,
};
use opscope_tensor::{Tensor, TensorView};

use super::PrecisionError;

/// The user's wish and the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    pub cancelled: &'a AtomicBool,
    pub end: Option<Instant>,
}

static NEVER: AtomicBool = AtomicBool::new(false);

impl Limits<'static> {
    /// No limits.
    pub const NONE: Self = Self { cancelled: &NEVER, end: None };
}

impl Limits<'_> {
    pub fn is_over(&self) -> bool {
        self.is_cancelled() || self.end.is_some_and(|end| Instant::now() > end)
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns an error if the user has ended the search.
    pub fn check(&self) -> Result<(), PrecisionError> {
        if self.is_cancelled() { Err(PrecisionError::Cancelled) } else { Ok(()) }
    }

    /// Returns why something failed: once the user has ended the search, that is the reason. Ctrl-C in a terminal ends the
    /// processes that the search has started, too.
    pub fn reason(&self, error: PrecisionError) -> PrecisionError {
        if self.is_cancelled() { PrecisionError::Cancelled } else { error }
    }

    /// Runs a model and returns its outputs.
    ///
    /// # Errors
    /// Returns an error if the engine fails, or the user has ended the search.
    pub fn run(&self, session: &Session, id: RunId, inputs: &[Tensor]) -> Result<Vec<Tensor>, PrecisionError> {
        self.check()?;
        let plan = session.plan(inputs)?;
        let outputs = match session.engine().capabilities(Fidelity::Exact).skip {
            true => run(&*plan, id, inputs, UntilOver { inner: NoObserver, limits: *self }),
            // Such an engine would keep every value, only to be stopped between two operators.
            false => run(&*plan, id, inputs, NoObserver),
        };
        outputs.map_err(|error| match error {
            EngineError::Stopped(_) => self.reason(error.into()),
            error => error.into(),
        })
    }
}

/// Runs a plan and returns its outputs.
///
/// # Errors
/// Returns an error if the engine fails, or if an output has no byte form.
pub(super) fn run(
    plan: &dyn Plan,
    id: RunId,
    inputs: &[Tensor],
    observer: impl RunObserver,
) -> Result<Vec<Tensor>, EngineError> {
    let outputs = Inference::run(plan, id, inputs, || Box::new(observer))?.outputs;
    let copies: Result<_, _> = outputs.into_iter().collect();
    copies.map_err(|error| EngineError::Run { node: None, reason: format!("an output cannot be copied: {error}") })
}

/// Stops a run between two operators when the search is over.
pub(super) struct UntilOver<'a, O> {
    pub inner: O,
    pub limits: Limits<'a>,
}

impl<O: RunObserver> RunObserver for UntilOver<'_, O> {
    fn interest(&self) -> Interest {
        Interest { before: KernelSet::All, ..self.inner.interest() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        match self.limits.is_over() {
            true => Action::Stop("the search is over".to_owned()),
            false => self.inner.before(dispatch, inputs),
        }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.inner.after(dispatch, outputs)
    }
}
