//! Where a run stops: by its client's breakpoints and steps, and at which kernels the engine asks.

use std::sync::Arc;

use opscope_model::{KernelId, RunId};
use opscope_onnx::OperatorId;
use opscope_tensor::Tensor;

use super::destination::Destination;
use super::plan::PlanInfo;
use crate::breakpoint::{Breakpoint, Target};
use crate::event::{EventName, EventSet, Moment};
use crate::queues::Generation;

/// The stops that a client wants in the runs of one plan, and the events of operators that it wants. It is replaced
/// whenever these change.
#[derive(Default)]
pub(crate) struct StopTable {
    /// The client. Events that are raised because of this table are meant for it only.
    pub debugger: Option<Generation>,
    /// The breakpoints before each kernel.
    before: Vec<Vec<Arc<Breakpoint>>>,
    /// The breakpoints after each kernel.
    after: Vec<Vec<Arc<Breakpoint>>>,
    /// The breakpoints on the first operator with NaN or infinity.
    pub first: Vec<Arc<Breakpoint>>,
    /// Whether an event is raised before every operator.
    pub ready: bool,
    /// Whether an event is raised after every operator.
    pub finished: bool,
    /// Whether events after operators include statistics.
    pub statistics: bool,
}

impl StopTable {
    pub fn new<'a>(
        debugger: Generation,
        plan: &PlanInfo,
        breakpoints: impl Iterator<Item = &'a Arc<Breakpoint>>,
        events: EventSet,
        statistics: bool,
    ) -> Self {
        let mut table = Self {
            debugger: Some(debugger),
            ready: events.contains(EventName::OperatorReady),
            finished: events.contains(EventName::OperatorFinished),
            statistics,
            before: vec![Vec::new(); plan.kernels.len()],
            after: vec![Vec::new(); plan.kernels.len()],
            first: Vec::new(),
        };
        for breakpoint in breakpoints.filter(|breakpoint| breakpoint.is_enabled()) {
            if let Target::First(_) = breakpoint.target() {
                if !breakpoint.operators(plan.model, &plan.graph).is_empty() {
                    table.first.push(Arc::clone(breakpoint));
                }
                continue;
            }
            let points = match breakpoint.moment {
                Moment::Before => &mut table.before,
                Moment::After => &mut table.after,
            };
            for &operator in breakpoint.operators(plan.model, &plan.graph).iter() {
                let Some(kernel) = plan.kernel_for(operator, breakpoint.moment) else { continue };
                let here = &mut points[kernel.id.index()];
                // A kernel that stands for several operators of a pattern stops the run only once.
                if here.last().is_none_or(|last| last.id != breakpoint.id) {
                    here.push(Arc::clone(breakpoint));
                }
            }
        }
        table
    }

    /// Returns the table of a client that wants no stops and no events.
    pub fn nothing(debugger: Option<Generation>) -> Arc<Self> {
        Arc::new(Self { debugger, ..Self::default() })
    }

    /// Returns whether a run can stop for a breakpoint at a kernel.
    pub fn can_stop(&self, run: RunId, kernel: KernelId, moment: Moment) -> bool {
        self.at(kernel, moment).iter().any(|breakpoint| breakpoint.watches(run))
    }

    /// Returns the breakpoints at a kernel.
    pub fn at(&self, kernel: KernelId, moment: Moment) -> &[Arc<Breakpoint>] {
        let points = match moment {
            Moment::Before => &self.before,
            Moment::After => &self.after,
        };
        points.get(kernel.index()).map_or(&[], Vec::as_slice)
    }
}

/// Where a run stops, and decisions about operators that it has not reached yet.
#[derive(Default)]
pub(crate) struct RunControl {
    /// `None` while no client is attached.
    pub table: Option<Arc<StopTable>>,
    pub step: Option<Step>,
    pub pause: Option<Pause>,
    /// Why the run has to end at its next operator. It is set if the run was stopped at a point where it could not end.
    /// The client that requested it may be gone by then.
    pub abort: Option<String>,
    /// The remaining kernels of a skipped operator, with the outputs that they will have.
    pub skip: Vec<(KernelId, Vec<Tensor>)>,
    /// Whether any mask may be on.
    pub(super) was_changed: bool,
}

/// A request that a run stops at its next operator.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The request was for this run.
    This,
    /// The request was for all runs. If this run ends first, the next run stops.
    Any,
}

/// Where a run stops next, apart from breakpoints.
pub(crate) enum Step {
    /// Before the next operator.
    Next,
    /// After this operator and everything in its bodies. `None` for the operator that ends next.
    Finish(Option<OperatorId>),
    /// Before one of these kernels, which are those of a destination.
    Until(Box<[bool]>, Destination),
}
