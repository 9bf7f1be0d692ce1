//! What the profiler names: its manifest at the beginning, and graphs, plans and threads once each, also those of
//! open models.

use std::collections::HashSet;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Dispatch, EngineError, Fidelity, Interest, Iteration, Kernel, KernelId, OpenRunInfo, RunId, RunInfo, RunObserver,
};
use opscope_onnx::Graph;
use opscope_trace::{Operation, PlanId, ThreadId, current_thread};

use super::{Profiler, RecordingInfo};
use crate::ProfilerOptions;
use crate::load::Load;
use crate::recording::{
    ClockInfo, HostInfo, Manifest, ModelInfo, NamesLine, ProcessInfo, RecordingWriter, SCHEMA, name_of_this_thread,
};
use crate::run::{RecordedRun, WantedKinds};

/// The graphs, plans and threads whose names have been written. They are kept alive so that nothing else gets the same
/// address.
#[derive(Default)]
pub struct NamedItems {
    graphs: Vec<Arc<Graph>>,
    plans: Vec<Plan>,
    threads: HashSet<ThreadId>,
}

/// A plan whose names have been written.
enum Plan {
    /// The kernels of an engine's plan.
    Kernels(Arc<[Kernel]>),
    /// The beginning of an open model, and the number of its kernels that were found.
    Open(Arc<Graph>, usize),
}

impl NamedItems {
    /// Returns the number of a plan. Writes its names if the plan is new.
    pub fn plan(&mut self, run: &RunInfo<'_>, writer: &RecordingWriter) -> PlanId {
        // The plan of the last run is the most likely one.
        let is_it = |plan: &Plan| matches!(plan, Plan::Kernels(kernels) if Arc::ptr_eq(kernels, run.kernels));
        let met = self.plans.iter().rposition(is_it);
        let number = met.unwrap_or_else(|| {
            let (graph, plan) = (self.graph(run.graph, writer), self.plans.len());
            writer.names().add(&NamesLine::plan(plan, graph, run.graph, run.fidelity, run.kernels));
            self.plans.push(Plan::Kernels(Arc::clone(run.kernels)));
            plan
        });
        PlanId(number as u64)
    }

    /// Returns the number of the plan of an open model, whose kernels are named when they are found.
    pub fn open_plan(&mut self, run: &OpenRunInfo<'_>, writer: &RecordingWriter) -> PlanId {
        let is_it = |plan: &Plan| matches!(plan, Plan::Open(header, _) if Arc::ptr_eq(header, run.header));
        let number = self.plans.iter().rposition(is_it).unwrap_or_else(|| {
            writer.names().add(&NamesLine::OpenPlan { plan: self.plans.len(), fidelity: Fidelity::Exact });
            self.plans.push(Plan::Open(Arc::clone(run.header), 0));
            self.plans.len() - 1
        });
        PlanId(number as u64)
    }

    /// Writes the names of a kernel of an open model, if they are new.
    pub fn found(&mut self, plan: PlanId, dispatch: &Dispatch<'_>, writer: &RecordingWriter) {
        let number = plan.0 as usize;
        let Some(Plan::Open(_, found)) = self.plans.get_mut(number) else { return };
        if dispatch.kernel.id.index() == *found {
            writer.names().add(&NamesLine::found(number, dispatch));
            *found += 1;
        }
    }

    /// Writes the name of the calling thread if the thread is new. Only the thread itself knows its full name, because
    /// the system keeps only 15 bytes.
    pub fn thread(&mut self, writer: &RecordingWriter) {
        let thread = current_thread();
        if self.threads.insert(thread) {
            writer.names().thread(thread, name_of_this_thread);
        }
    }

    /// Returns the number of a graph. Writes its names if the graph is new.
    pub fn graph(&mut self, graph: &Arc<Graph>, writer: &RecordingWriter) -> usize {
        self.graphs.iter().position(|known| Arc::ptr_eq(known, graph)).unwrap_or_else(|| {
            writer.names().add(&NamesLine::graph(self.graphs.len(), graph));
            self.graphs.push(Arc::clone(graph));
            self.graphs.len() - 1
        })
    }
}

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

/// Returns the manifest of a recording that begins.
pub(super) fn manifest(info: &RecordingInfo, options: &ProfilerOptions) -> Manifest {
    let source = &info.graph.source;
    Manifest {
        schema: SCHEMA.to_owned(),
        complete: false,
        incomplete_because: Vec::new(),
        notes: Vec::new(),
        model: ModelInfo {
            path: source.path.display().to_string(),
            xxh3: source.xxh3,
            graph: info.graph.name.clone(),
            producer: source.producer.clone(),
        },
        engine: info.engine.clone(),
        host: HostInfo::current(),
        load: Load::now(),
        process: ProcessInfo::current(),
        clock: ClockInfo::start(),
        switches: options.switches.states().into_iter().map(|(name, on)| (name.to_owned(), on)).collect(),
        sample_interval_ns: options.sample_interval.as_nanos() as u64,
        records: None,
        imported: None,
    }
}
