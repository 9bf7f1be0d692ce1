//! Tries sets of operators: runs the model with all others lowered, and says whether it is good enough.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use opscope::Session;
use opscope_model::{EngineError, NoObserver, Plan, RunId};
use opscope_onnx::{Graph, Lowering, OperatorId};
use opscope_tensor::Tensor;

use super::PrecisionError;
use super::beginnings::Beginnings;
use super::conversion::Conversion;
use super::criterion::Criterion;
use super::journal::{Journal, Trial};
use super::limits::{Limits, UntilOver, run};
use super::lowered_run::{LoweredRun, RoundedSlots};
use super::search::{Cut, Verdict};
use super::target::Target;

/// A set of inputs, and what the reference makes of it.
pub(super) struct Sample<'a> {
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    /// The original's plan, in which values can be rounded. `None` if a set is tried by running the file that would be
    /// written: where the engine does not show an operator that can be lowered, as in the body of a loop, or cannot
    /// replace a weight for one run, and for integers.
    pub rounding: Option<Rounding<'a>>,
}

/// The original's plan, and what is rounded in it.
pub(super) struct Rounding<'a> {
    pub plan: Arc<dyn Plan>,
    pub slots: Vec<Option<RoundedSlots>>,
    pub lowering: &'a Lowering<'a>,
    /// Where its runs can begin.
    pub beginnings: Beginnings,
}

/// The runs of a search.
pub(super) struct Trials<'a> {
    pub conversion: Conversion<'a>,
    /// Loads a model into the engine.
    pub load: &'a dyn Fn(Arc<Graph>) -> Result<Session, PrecisionError>,
    pub samples: Vec<Sample<'a>>,
    pub criterion: &'a Criterion,
    /// A file for the model that a command checks.
    pub checked: PathBuf,
    pub limits: Limits<'a>,
    pub journal: Journal,
    /// Whole runs of one set of inputs so far.
    pub runs: f64,
}

impl Trials<'_> {
    /// Tries these operators kept, and all other candidates lowered. A set that was tried before is not tried again. With
    /// `whole`, the value is that of all sets of inputs; otherwise the first ones may have been enough to know that the
    /// target is missed.
    pub fn run(&mut self, kept: &HashSet<OperatorId>, whole: bool) -> Result<Verdict, Cut<PrecisionError>> {
        if self.limits.is_over() {
            return Err(Cut::Enough);
        }
        let mut ids: Vec<u32> = kept.iter().map(|operator| operator.index() as u32).collect();
        ids.sort_unstable();
        let trial = match self.journal.trial(&ids).filter(|trial| trial.whole || !whole) {
            Some(trial) => trial.clone(),
            None => {
                let tried = match self.criterion {
                    Criterion::Target(target) => self.measure(*target, kept, ids, whole),
                    Criterion::Check(command) => self.check(command, kept, ids),
                };
                let trial = match tried {
                    // Ctrl-C in a terminal ends a quantizer, too.
                    Err(Cut::Failed(_)) if self.limits.is_cancelled() => return Err(Cut::Enough),
                    tried => tried?,
                };
                self.journal.add(trial.clone()).map_err(|error| Cut::Failed(PrecisionError::Journal(error)))?;
                trial
            }
        };
        self.runs += trial.runs;
        Ok(Verdict { is_met: trial.met, value: trial.value })
    }

    fn check(&self, command: &str, kept: &HashSet<OperatorId>, ids: Vec<u32>) -> Result<Trial, Cut<PrecisionError>> {
        self.conversion.write(kept, &self.checked).map_err(Cut::Failed)?;
        let met = Criterion::check(command, &self.checked).map_err(Cut::Failed)?;
        // A command that Ctrl-C ended says nothing.
        match self.limits.is_over() {
            true => Err(Cut::Enough),
            false => Ok(Trial { kept: ids, value: None, met, whole: true, runs: self.samples.len() as f64 }),
        }
    }

    /// Measures the mean over the sets of inputs.
    fn measure(
        &self,
        target: Target,
        kept: &HashSet<OperatorId>,
        ids: Vec<u32>,
        whole: bool,
    ) -> Result<Trial, Cut<PrecisionError>> {
        let mut values = Vec::new();
        let mut runs = 0.0;
        let trial = |value, runs, whole| Trial { kept: ids.clone(), value, met: target.is_met(value), whole, runs };
        let loaded = match self.samples.iter().find(|sample| sample.rounding.is_none()) {
            None => None,
            Some(sample) => match self.conversion.loaded(kept, self.load, &sample.inputs).map_err(Cut::Failed)? {
                Some(session) => Some(session),
                None => return Ok(trial(None, runs, true)),
            },
        };
        for (index, sample) in self.samples.iter().enumerate() {
            let (outputs, share) = match self.outputs(loaded.as_ref(), RunId(index as u64), sample, kept) {
                Err(EngineError::Stopped(_)) if self.limits.is_over() => return Err(Cut::Enough),
                outputs => outputs.map_err(|error| Cut::Failed(error.into()))?,
            };
            runs += share;
            match target.metric.of(&outputs, &sample.outputs) {
                Some(value) => values.push(value),
                None => return Ok(trial(None, runs, true)),
            }
            if !whole && !target.can_be_met(&values, self.samples.len()) {
                break;
            }
        }
        let all = values.len() == self.samples.len();
        Ok(trial(Some(target.metric.mean(&values)), runs, all))
    }

    /// Runs the model on one set of inputs with these operators kept: the loaded file, or else the original. Returns the
    /// outputs, and the share of the model that was executed.
    pub fn outputs(
        &self,
        loaded: Option<&Session>,
        id: RunId,
        sample: &Sample<'_>,
        kept: &HashSet<OperatorId>,
    ) -> Result<(Vec<Tensor>, f64), EngineError> {
        match (loaded, &sample.rounding) {
            (None, Some(Rounding { plan, slots, lowering, beginnings })) => {
                let kernels = plan.kernels();
                let start = beginnings.start(kernels, kept, |kernel| slots[kernel.id.index()].is_some());
                let lowered = LoweredRun { slots, lowering, kept, kernels, start: &start };
                let outputs = run(&**plan, id, &sample.inputs, UntilOver { inner: lowered, limits: self.limits })?;
                let share = start.share;
                start.end(kept);
                Ok((outputs, share))
            }
            (Some(session), _) => {
                let observer = UntilOver { inner: NoObserver, limits: self.limits };
                Ok((run(&*session.plan(&sample.inputs)?, id, &sample.inputs, observer)?, 1.0))
            }
            (None, None) => Err(EngineError::Run { node: None, reason: "there is no model to run".to_owned() }),
        }
    }
}
