use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope_model::RunId;
use opscope_onnx::{Graph, OperatorId};
use opscope_sys::Mutex;

use super::target::Target;
use super::{BreakpointError, BreakpointInfo, BreakpointLocation, BreakpointSpec};
use crate::event::{BreakpointId, ModelId, Moment};
use crate::expression::{Condition, Tensors};

/// A breakpoint as runs evaluate it, from several threads.
pub(crate) struct Breakpoint {
    pub id: BreakpointId,
    pub moment: Moment,
    spec: BreakpointSpec,
    condition: Option<Condition>,
    /// Why the condition could not be evaluated most recently.
    condition_error: Mutex<Option<String>>,
    counts: Arc<Counts>,
    /// The operators of its target, by model, so that patterns are not matched again whenever another breakpoint
    /// changes.
    operators: Mutex<BTreeMap<ModelId, Arc<[OperatorId]>>>,
}

/// The counts of a breakpoint. They are kept when the breakpoint is changed.
#[derive(Default)]
struct Counts {
    ignore: AtomicU64,
    hits: AtomicU64,
    /// Set by the run that stops at a one-shot breakpoint, so that no other run does.
    spent: AtomicBool,
}

impl Breakpoint {
    /// Makes a breakpoint without a number.
    ///
    /// # Errors
    /// Returns an error if the condition cannot be parsed, reads a tensor that does not exist at that moment, or does
    /// not fit the target.
    pub fn new(spec: BreakpointSpec) -> Result<Self, BreakpointError> {
        let text = spec.condition.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let condition = text.map(Condition::parse).transpose().map_err(BreakpointError::Condition)?;
        let moment = moment(&spec, condition.as_ref())?;
        let spec = BreakpointSpec { condition: condition.as_ref().map(ToString::to_string), ..spec };
        Ok(Self {
            id: BreakpointId(0),
            moment,
            condition,
            condition_error: Mutex::default(),
            counts: Arc::new(Counts { ignore: AtomicU64::new(spec.ignore), ..Counts::default() }),
            operators: Mutex::default(),
            spec,
        })
    }

    /// Returns this breakpoint with the number and the counts of `earlier`, which it replaces and which has the same
    /// target. `ignore` is the new ignore count, if that changes. The error of the same condition is kept, too.
    pub fn with_counts_of(self, earlier: &Self, ignore: Option<u64>) -> Self {
        let counts = Arc::clone(&earlier.counts);
        if let Some(ignore) = ignore {
            counts.ignore.store(ignore, Ordering::Relaxed);
        }
        let operators = earlier.operators.lock().clone();
        let is_same = self.spec.condition == earlier.spec.condition;
        let condition_error = earlier.condition_error.lock().clone().filter(|_| is_same);
        Self {
            id: earlier.id,
            counts,
            condition_error: Mutex::new(condition_error),
            operators: Mutex::new(operators),
            ..self
        }
    }

    /// Returns the operators of its target in a model, in the order of their ids.
    pub fn operators(&self, model: ModelId, graph: &Graph) -> Arc<[OperatorId]> {
        if self.spec.model.is_some_and(|only| only != model) {
            return Arc::default();
        }
        let mut known = self.operators.lock();
        let found = || self.spec.target.operators(graph).into_iter().map(|operator| operator.id).collect();
        Arc::clone(known.entry(model).or_insert_with(found))
    }

    /// Forgets the operators of a model that was unloaded.
    pub fn forget(&self, model: ModelId) {
        self.operators.lock().remove(&model);
    }

    pub fn target(&self) -> &Target {
        &self.spec.target
    }

    /// Returns its spec with the ignore count that is left.
    pub fn spec(&self) -> BreakpointSpec {
        BreakpointSpec { ignore: self.counts.ignore.load(Ordering::Relaxed), ..self.spec.clone() }
    }

    pub fn is_one_shot(&self) -> bool {
        self.spec.one_shot
    }

    pub fn is_enabled(&self) -> bool {
        self.spec.enabled && !(self.spec.one_shot && self.counts.spent.load(Ordering::Relaxed))
    }

    /// Returns whether a run stops here, and counts a hit if the condition holds.
    pub fn stops(&self, run: RunId, tensors: &dyn Tensors) -> bool {
        if !self.is_enabled() || !self.spec.watches(run) {
            return false;
        }
        if let Some(condition) = &self.condition {
            match condition.holds(tensors) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    *self.condition_error.lock() = Some(error.to_string());
                    return false;
                }
            }
        }
        self.hit()
    }

    /// Counts a hit and returns whether the run stops for it.
    pub fn hit(&self) -> bool {
        self.counts.hits.fetch_add(1, Ordering::Relaxed);
        let ignored = self.counts.ignore.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        ignored.is_err() && !(self.spec.one_shot && self.counts.spent.swap(true, Ordering::Relaxed))
    }

    pub fn watches(&self, run: RunId) -> bool {
        self.is_enabled() && self.spec.watches(run)
    }

    pub fn info(&self, locations: Vec<BreakpointLocation>) -> BreakpointInfo {
        BreakpointInfo {
            id: self.id,
            spec: self.spec(),
            moment: self.moment,
            hits: self.counts.hits.load(Ordering::Relaxed),
            locations,
            condition_error: self.condition_error.lock().clone(),
        }
    }
}

/// Returns whether the breakpoint stops before or after an operator: as requested, or as the condition requires.
fn moment(spec: &BreakpointSpec, condition: Option<&Condition>) -> Result<Moment, BreakpointError> {
    if let Target::First(_) = spec.target {
        return match (spec.moment, condition) {
            (Some(Moment::Before), _) => Err(BreakpointError::FirstBefore),
            (_, Some(_)) => Err(BreakpointError::FirstWithCondition),
            _ => Ok(Moment::After),
        };
    }
    let Some(condition) = condition else { return Ok(spec.moment.unwrap_or(Moment::Before)) };
    let needs = condition.needs();
    match spec.moment {
        Some(Moment::Before) if needs.outputs => {
            Err(BreakpointError::OutputsBefore { condition: condition.to_string() })
        }
        Some(moment) => Ok(moment),
        None if needs.outputs || needs.stopped => Ok(Moment::After),
        None => Ok(Moment::Before),
    }
}
