use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opscope_model::RunId;
use opscope_onnx::{Graph, OperatorId};

use super::{BreakpointId, BreakpointInfo, BreakpointLocation, BreakpointSpec, Target};
use crate::expression::{Condition, Tensors};
use crate::{DebugError, ModelId, Moment};

/// A breakpoint that runs come to, from several threads.
pub(crate) struct Breakpoint {
    pub id: BreakpointId,
    pub moment: Moment,
    spec: BreakpointSpec,
    condition: Option<Condition>,
    counts: Arc<Counts>,
    /// The operators that are meant, by model: patterns are not looked up again whenever another breakpoint changes.
    operators: Mutex<BTreeMap<ModelId, Arc<[OperatorId]>>>,
}

/// What runs leave at a breakpoint. Its forms, before and after a change, have it together.
#[derive(Default)]
struct Counts {
    ignore: AtomicU64,
    hits: AtomicU64,
    /// Set by the run that stops at a one-shot breakpoint: no other one does.
    spent: AtomicBool,
    trouble: Mutex<Option<String>>,
}

impl Breakpoint {
    /// A breakpoint as it is asked for, without a number.
    ///
    /// # Errors
    /// When the condition cannot be read, or asks for what is not there at that moment.
    pub fn new(spec: BreakpointSpec) -> Result<Self, DebugError> {
        let text = spec.condition.as_deref().map(str::trim).filter(|text| !text.is_empty());
        let condition =
            text.map(Condition::parse).transpose().map_err(|error| DebugError::Condition(format!("{error:#}")))?;
        let moment = moment(&spec, condition.as_ref())?;
        let spec = BreakpointSpec { condition: condition.as_ref().map(ToString::to_string), ..spec };
        Ok(Self {
            id: BreakpointId(0),
            moment,
            condition,
            counts: Arc::new(Counts { ignore: AtomicU64::new(spec.ignore), ..Counts::default() }),
            operators: Mutex::default(),
            spec,
        })
    }

    /// The same with the number and the counts of an earlier form of it, which has the same target; with another ignore
    /// count, where one is given.
    pub fn with_counts_of(self, earlier: &Self, ignore: Option<u64>) -> Self {
        let counts = Arc::clone(&earlier.counts);
        if let Some(ignore) = ignore {
            counts.ignore.store(ignore, Ordering::Relaxed);
        }
        let operators = earlier.operators.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { id: earlier.id, counts, operators: Mutex::new(operators), ..self }
    }

    /// The operators of a model that are meant, in the order of execution.
    pub fn operators(&self, model: ModelId, graph: &Graph) -> Arc<[OperatorId]> {
        let mut known = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        let found = || self.spec.target.operators(graph).into_iter().map(|operator| operator.id).collect();
        Arc::clone(known.entry(model).or_insert_with(found))
    }

    /// A model is gone.
    pub fn forget(&self, model: ModelId) {
        self.operators.lock().unwrap_or_else(PoisonError::into_inner).remove(&model);
    }

    pub fn target(&self) -> &Target {
        &self.spec.target
    }

    /// The spec with the ignore count that is left.
    pub fn spec(&self) -> BreakpointSpec {
        BreakpointSpec { ignore: self.counts.ignore.load(Ordering::Relaxed), ..self.spec.clone() }
    }

    pub fn is_one_shot(&self) -> bool {
        self.spec.one_shot
    }

    pub fn is_enabled(&self) -> bool {
        self.spec.enabled && !(self.spec.one_shot && self.counts.spent.load(Ordering::Relaxed))
    }

    /// Whether a run that has come here stops.
    pub fn stops(&self, run: RunId, tensors: &dyn Tensors) -> bool {
        if !self.is_enabled() || !self.spec.watches(run) {
            return false;
        }
        if let Some(condition) = &self.condition {
            match condition.holds(tensors) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    *self.counts.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                    return false;
                }
            }
        }
        self.hit()
    }

    /// Counts a hit, and says whether the run stops for it.
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
            trouble: self.counts.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// Before or after: as asked for, or as the condition needs it.
fn moment(spec: &BreakpointSpec, condition: Option<&Condition>) -> Result<Moment, DebugError> {
    if let Target::First(_) = spec.target {
        return match (spec.moment, condition) {
            (Some(Moment::Before), _) => {
                Err(DebugError::Condition("what an operator makes is seen after it, not before".to_owned()))
            }
            (_, Some(_)) => Err(DebugError::Condition(
                "'first' is a condition already; use a breakpoint on an operator for another one".to_owned(),
            )),
            _ => Ok(Moment::After),
        };
    }
    let Some(condition) = condition else { return Ok(spec.moment.unwrap_or(Moment::Before)) };
    let needs = condition.needs();
    match spec.moment {
        Some(Moment::Before) if needs.outputs => Err(DebugError::Condition(format!(
            "'{condition}' asks for outputs, which are not there before the operator; use 'after'"
        ))),
        Some(moment) => Ok(moment),
        None if needs.outputs || needs.stopped => Ok(Moment::After),
        None => Ok(Moment::Before),
    }
}
