//! Tries sets of operators: runs the model with all others lowered, and measures the outputs.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use opscope_model::{Action, Dispatch, EngineError, Interest, Plan, RunId, RunObserver};
use opscope_onnx::{Lowering, OperatorId};
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

/// The runs of a search.
pub(super) struct Trials<'a> {
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

    /// Returns the mean of the metric over the sets of inputs, and the number of runs. One set whose outputs are not
    /// finite is enough to know.
    fn measure(&self, kept: &HashSet<OperatorId>) -> Result<(Option<f64>, f64), Cut<PrecisionError>> {
        let mut values = Vec::new();
        for (index, sample) in self.samples.iter().enumerate() {
            let lowered = LoweredRun { slots: &sample.slots, lowering: self.lowering, kept };
            let observer = UntilOver { inner: lowered, limits: self.limits };
            let outputs = match run(&*sample.plan, RunId(index as u64), &sample.inputs, observer) {
                Err(EngineError::Stopped(_)) if self.limits.is_over() => return Err(Cut::Enough),
                outputs => outputs.map_err(|error| Cut::Failed(error.into()))?,
            };
            match self.target.metric.of(&outputs, &sample.outputs) {
                Some(value) => values.push(value),
                None => return Ok((None, (index + 1) as f64)),
            }
        }
        Ok((Some(mean(&values)), values.len() as f64))
    }
}

/// Returns the mean of some numbers.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Stops a run between two operators when the search is over.
struct UntilOver<'a, O> {
    inner: O,
    limits: Limits<'a>,
}

impl<O: RunObserver> RunObserver for UntilOver<'_, O> {
    fn interest(&self) -> Interest {
        self.inner.interest()
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
