//! Tries sets of operators: runs the model with all others lowered, and measures the outputs.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use opscope::Session;
use opscope_model::{Action, Dispatch, EngineError, Interest, KernelSet, NoObserver, Plan, RunId, RunObserver};
use opscope_onnx::{Graph, Lowering, OperatorId};
use opscope_tensor::{Tensor, TensorView};

use super::PrecisionError;
use super::beside::run;
use super::journal::{Journal, Trial};
use super::lowered_run::{LoweredRun, RoundedSlots};
use super::search::{Cut, Verdict};
use super::target::Target;

/// When a search ends before it has found a smallest set.
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
        self.cancelled.load(Ordering::Relaxed) || self.end.is_some_and(|end| Instant::now() > end)
    }
}

/// A set of inputs, and what the reference makes of it.
pub(super) struct Sample {
    pub plan: Arc<dyn Plan>,
    pub slots: Vec<Option<RoundedSlots>>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
}

/// How a set is tried.
pub(super) enum Way<'a> {
    /// The original runs, and values are rounded on the way: the model is loaded once, for any type.
    Rounding,
    /// The file that would be written is loaded and run: where the engine does not show an operator that can be lowered,
    /// as in the body of a loop, or cannot replace a weight for one run.
    File(Box<dyn Fn(Arc<Graph>) -> Result<Session, PrecisionError> + 'a>),
}

/// The runs of a search.
pub(super) struct Trials<'a> {
    pub way: Way<'a>,
    pub lowering: &'a Lowering<'a>,
    pub samples: Vec<Sample>,
    pub target: Target,
    pub limits: Limits<'a>,
    pub journal: Journal,
    /// Whole runs of one set of inputs so far.
    pub runs: f64,
}

impl Trials<'_> {
    /// Runs the model on every set of inputs with these operators kept, and all other candidates lowered. A set that was
    /// tried before is not run again.
    pub fn run(&mut self, kept: &HashSet<OperatorId>) -> Result<Verdict, Cut<PrecisionError>> {
        let mut ids: Vec<u32> = kept.iter().map(|operator| operator.index() as u32).collect();
        ids.sort_unstable();
        let trial = match self.journal.trial(&ids) {
            Some(trial) => trial.clone(),
            None => {
                let (value, runs) = self.measure(kept)?;
                let trial = Trial { kept: ids, value, met: self.target.is_met(value), runs };
                self.journal.add(trial.clone()).map_err(|error| Cut::Failed(PrecisionError::Journal(error)))?;
                trial
            }
        };
        self.runs += trial.runs;
        Ok(Verdict { is_met: trial.met, value: trial.value })
    }

    /// Returns the mean of the metric over the sets of inputs, and the number of runs. It is that of the first sets if
    /// the others could not change whether the target is met.
    fn measure(&self, kept: &HashSet<OperatorId>) -> Result<(Option<f64>, f64), Cut<PrecisionError>> {
        let loaded = match &self.way {
            Way::Rounding => None,
            Way::File(load) => Some(self.file(kept).and_then(load).map_err(Cut::Failed)?),
        };
        let mut values = Vec::new();
        for (index, sample) in self.samples.iter().enumerate() {
            let outputs = match self.outputs(loaded.as_ref(), RunId(index as u64), sample, kept) {
                Err(EngineError::Stopped(_)) if self.limits.is_over() => return Err(Cut::Enough),
                outputs => outputs.map_err(|error| Cut::Failed(error.into()))?,
            };
            match self.target.metric.of(&outputs, &sample.outputs) {
                Some(value) => values.push(value),
                None => return Ok((None, (index + 1) as f64)),
            }
            if !self.target.can_be_met(&values, self.samples.len()) {
                break;
            }
        }
        Ok((Some(self.target.metric.mean(&values)), values.len() as f64))
    }

    /// Returns the model with these operators kept, as it would be written.
    fn file(&self, kept: &HashSet<OperatorId>) -> Result<Arc<Graph>, PrecisionError> {
        let file = self.lowering.file(&lowered(self.lowering, kept))?.encode()?;
        Ok(Arc::new(Graph::from_bytes(&self.lowering.graph().source.path, file)?))
    }

    /// Runs the model on one set of inputs with these operators kept: the loaded file, or else the original.
    pub fn outputs(
        &self,
        loaded: Option<&Session>,
        id: RunId,
        sample: &Sample,
        kept: &HashSet<OperatorId>,
    ) -> Result<Vec<Tensor>, EngineError> {
        match loaded {
            Some(session) => {
                let observer = UntilOver { inner: NoObserver, limits: self.limits };
                run(&*session.plan(&sample.inputs)?, id, &sample.inputs, observer)
            }
            None => {
                let lowered = LoweredRun { slots: &sample.slots, lowering: self.lowering, kept };
                run(&*sample.plan, id, &sample.inputs, UntilOver { inner: lowered, limits: self.limits })
            }
        }
    }
}

/// Returns the candidates that are not kept.
pub(super) fn lowered(lowering: &Lowering<'_>, kept: &HashSet<OperatorId>) -> HashSet<OperatorId> {
    lowering.candidates().map(|operator| operator.id).filter(|id| !kept.contains(id)).collect()
}

/// Stops a run between two operators when the search is over.
struct UntilOver<'a, O> {
    inner: O,
    limits: Limits<'a>,
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
