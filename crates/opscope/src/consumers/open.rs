use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Capabilities, Dispatch, EngineError, Instrument, Interest, Iteration, Kernel, KernelId, NoObserver, OpenRunInfo,
    RunId, RunInfo, RunObserver,
};
use opscope_onnx::Graph;
use opscope_producer::{Fidelity, LoadedModel, LoadedPlan, ModelFacts, RunFeed, is_any_attached};
use opscope_sys::Mutex;

use super::facts;
use super::observer::with_path;

/// Feeds the runs of an open model to consumers.
///
/// The kernels of an open model are found while it runs, and consumers get plans all of whose kernels are known. So
/// they get a run when it has ended, with the times at which its kernels were executed. A plan has all kernels that
/// were found so far; when more kernels are found, the next run has a new plan.
pub struct OpenConsumers {
    engine: String,
    version: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The kernels that were found, by index, each with its part of the graph.
    found: Vec<(Arc<Graph>, Kernel)>,
    /// The plan of the last run, and how many kernels it has.
    plan: Option<(usize, LoadedPlan)>,
}

/// The observer of one run.
struct OpenFed {
    consumers: Arc<OpenConsumers>,
    run: RunId,
    header: Arc<Graph>,
    executed: Mutex<Vec<Executed>>,
}

struct Executed {
    kernel: KernelId,
    path: Box<[Iteration]>,
    start: Ticks,
    end: Ticks,
}

impl OpenConsumers {
    /// Creates the instrument for a program that this engine runs, such as `torch`, in this version.
    pub fn new(engine: &str, version: &str) -> Self {
        Self { engine: engine.to_owned(), version: version.to_owned(), state: Mutex::default() }
    }

    /// Returns a plan of all kernels that were found.
    fn plan(&self, header: &Graph) -> LoadedPlan {
        let mut state = self.state.lock();
        let State { found, plan } = &mut *state;
        match plan {
            Some((kernels, plan)) if *kernels == found.len() => plan.clone(),
            _ => {
                let model = ModelFacts {
                    name: &header.name,
                    path: &header.source.path,
                    engine: &self.engine,
                    engine_version: &self.version,
                    fidelity: Fidelity::Exact,
                };
                let operators = found.iter().flat_map(|(graph, _)| &graph.operators).map(facts::of_operator);
                let model = LoadedModel::new(&model, operators);
                let made = model.plan(found.iter().map(|(graph, kernel)| facts::of_kernel(graph, kernel)));
                *plan = Some((found.len(), made.clone()));
                made
            }
        }
    }
}

impl Instrument for OpenConsumers {
    fn name(&self) -> &str {
        "consumers"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { times: true, ..Capabilities::default() }
    }

    /// Sessions feed the runs of engines.
    fn observe<'a>(&'a self, _run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        Box::new(NoObserver)
    }

    fn observe_open(self: Arc<Self>, run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        let (run, header) = (run.id, Arc::clone(run.header));
        Some(Arc::new(OpenFed { consumers: self, run, header, executed: Mutex::default() }))
    }
}

impl RunObserver for OpenFed {
    fn interest(&self) -> Interest {
        Interest { times: is_any_attached(), ..Interest::default() }
    }

    fn found(&self, dispatch: &Dispatch<'_>) {
        let mut state = self.consumers.state.lock();
        if dispatch.kernel.id.index() == state.found.len() {
            state.found.push((Arc::clone(dispatch.graph), dispatch.kernel.clone()));
        }
    }

    fn timed(&self, kernel: KernelId, path: &[Iteration], start: Ticks, end: Ticks) {
        self.executed.lock().push(Executed { kernel, path: path.into(), start, end });
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let mut executed = std::mem::take(&mut *self.executed.lock());
        executed.sort_by_key(|executed| executed.start);
        let begun = outcome.as_ref().ok().map(|(start, _)| *start);
        let begun = begun.or(executed.first().map(|first| first.start)).unwrap_or_else(Ticks::now);
        let plan = self.consumers.plan(&self.header);
        let Some(feed) = RunFeed::begin_at(&plan, self.run.0, begun) else { return };
        for Executed { kernel, path, start, end } in executed {
            with_path(&path, |path| {
                feed.dispatch_begin_at(kernel.index(), path, start);
                feed.dispatch_end(kernel.index(), path, start, end);
            });
        }
        feed.finished(outcome.is_ok());
    }
}
