//! The tracer: emits the records of runs into the contexts of the process.

mod plans;

use opscope_clock::Ticks;
use opscope_model::{Capabilities, Instrument, NoObserver, RunInfo, RunObserver};
use opscope_trace::{
    DispatchRecord, Kind, PathLevel, PlanId, Record, RunOperation, current_correlation, emit, emit_with_path, wanted,
};

pub use self::plans::{PlanNames, plan_names};
use crate::recording::Call;
use crate::run::{Destination, RecordedRun, WantedKinds, engine_call};

/// The instrument that emits the records of runs into the buffers of all started contexts ([`opscope_trace::Context`]),
/// with or without a [`Profiler`](crate::Profiler). `opscope::Session` runs with it.
///
/// It checks which kinds of records are requested when a run begins. Runs have the numbers that their caller gave them,
/// so two sessions may use the same numbers, but the correlation ids differ. Plans are numbered process-wide.
/// [`plan_names`] returns the names of a plan and its kernels.
///
/// If no record of a run is requested, the cost is a relaxed load and a branch for each of five kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tracer;

/// The buffers of all started contexts.
struct StartedContexts;

impl Tracer {
    /// Returns the observer of a run, or `None` if no started context requests a record of it.
    pub fn observe_if_wanted(self, run: &RunInfo<'_>) -> Option<Box<dyn RunObserver>> {
        let wanted = wanted_kinds();
        if wanted == WantedKinds::default() {
            return None;
        }
        let has_plan = wanted.runs || wanted.dispatches;
        let plan = if has_plan { plans::number(run) } else { PlanId::default() };
        Some(Box::new(RecordedRun::new(StartedContexts, wanted, run.id, plan, RunOperation::Measured.into())))
    }

    /// Emits a call of the engine that loaded a model or made a plan. The calls of a run are emitted by its observer.
    pub fn called(self, call: Call, start: Ticks, end: Ticks, failed: bool) {
        if wanted(Kind::EngineCall) {
            StartedContexts.emit(&engine_call(call, None, current_correlation(), (start, end), failed));
        }
    }
}

impl Instrument for Tracer {
    fn name(&self) -> &str {
        "tracer"
    }

    fn requires(&self) -> Capabilities {
        let wanted = wanted_kinds();
        Capabilities { times: wanted.dispatches, memory: wanted.tensor_memory, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        match self.observe_if_wanted(run) {
            Some(observer) => observer,
            None => Box::new(NoObserver),
        }
    }
}

impl Destination for StartedContexts {
    #[inline]
    fn emit<R: Record>(&self, record: &R) {
        // The buffer counts a record that it could not take, so the error can be ignored.
        let _ = emit(record);
    }

    fn emit_with_path(&self, record: &DispatchRecord, path: impl ExactSizeIterator<Item = PathLevel>) {
        let _ = emit_with_path(record, path);
    }

    /// Such dispatches have no records, so no buffer counts them.
    fn lose(&self, _dispatches: u64) {}
}

fn wanted_kinds() -> WantedKinds {
    WantedKinds {
        runs: wanted(Kind::Run),
        dispatches: wanted(Kind::OperatorDispatch),
        copies: wanted(Kind::TensorCopy),
        calls: wanted(Kind::EngineCall),
        tensor_memory: wanted(Kind::TensorAllocation),
    }
}
