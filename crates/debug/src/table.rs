use std::sync::Arc;

use opscope_model::{KernelId, RunId};

use crate::breakpoint::Breakpoint;
use crate::plan::PlanInfo;
use crate::queues::Generation;
use crate::{EventName, EventSet, Moment, Target};

/// What a debugger wants of the runs of one plan. Made anew whenever it wants something else.
#[derive(Default)]
pub(crate) struct Table {
    /// Which debugger this is: what is told because of it is told to no other one.
    pub debugger: Option<Generation>,
    /// By kernel.
    before: Vec<Vec<Arc<Breakpoint>>>,
    after: Vec<Vec<Arc<Breakpoint>>>,
    /// Breakpoints on the first operator that makes NaN or infinity.
    pub first: Vec<Arc<Breakpoint>>,
    /// Whether every operator is told before it is executed.
    pub ready: bool,
    /// Whether every operator is told when it was executed.
    pub finished: bool,
    /// Whether that is told with statistics.
    pub statistics: bool,
}

impl Table {
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
                table.first.push(Arc::clone(breakpoint));
                continue;
            }
            let points = match breakpoint.moment {
                Moment::Before => &mut table.before,
                Moment::After => &mut table.after,
            };
            for &operator in breakpoint.operators(plan.model, &plan.graph).iter() {
                let Some(kernel) = plan.kernel_for(operator, breakpoint.moment) else { continue };
                let here = &mut points[kernel.id.index()];
                // Several operators of a pattern may be one kernel: it is one place.
                if here.last().is_none_or(|last| last.id != breakpoint.id) {
                    here.push(Arc::clone(breakpoint));
                }
            }
        }
        table
    }

    /// A debugger that wants nothing.
    pub fn nothing(debugger: Option<Generation>) -> Arc<Self> {
        Arc::new(Self { debugger, ..Self::default() })
    }

    /// Whether a run can stop for a breakpoint at a place.
    pub fn can_stop(&self, run: RunId, kernel: KernelId, moment: Moment) -> bool {
        self.at(kernel, moment).iter().any(|breakpoint| breakpoint.watches(run))
    }

    /// The breakpoints at a place.
    pub fn at(&self, kernel: KernelId, moment: Moment) -> &[Arc<Breakpoint>] {
        let points = match moment {
            Moment::Before => &self.before,
            Moment::After => &self.after,
        };
        points.get(kernel.index()).map_or(&[], Vec::as_slice)
    }
}
