use std::sync::Arc;

use opscope_model::{KernelId, RunId};

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
