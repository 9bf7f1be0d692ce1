use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Dispatch, EngineError, Interest, Iteration, KernelId, RunId, RunObserver};
use opscope_trace::{Operation, PlanId};

use super::Profiler;
use crate::run::{RecordedRun, WantedKinds};

/// The observer of one run of an open model. It writes the names of the operators that are found.
pub(super) struct OpenRun {
    profiler: Arc<Profiler>,
    plan: PlanId,
    run: RecordedRun<Arc<Profiler>>,
}

impl OpenRun {
    pub fn new(profiler: Arc<Profiler>, wanted: WantedKinds, run: RunId, plan: PlanId, operation: Operation) -> Self {
        let run = RecordedRun::new(Arc::clone(&profiler), wanted, run, plan, operation);
        Self { profiler, plan, run }
    }
}

impl RunObserver for OpenRun {
    fn interest(&self) -> Interest {
        self.run.interest()
    }

    fn found(&self, dispatch: &Dispatch<'_>) {
        self.profiler.known().found(self.plan, dispatch, &self.profiler.writer);
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        self.run.timed(kernel, path, start, end);
    }

    fn untimed(&self, dispatches: u64) {
        self.run.untimed(dispatches);
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        self.run.finished(outcome);
    }
}
