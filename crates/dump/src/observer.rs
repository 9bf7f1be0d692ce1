use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, EngineError, Interest, Kernel, RunId, RunInfo, RunObserver, Which};
use opscope_onnx::Graph;
use opscope_tensor::TensorView;

use crate::Missing;
use crate::outcome::RunOutcome;
use crate::routes::{Route, Routes};
use crate::subscription::Subscription;

/// One run, as the dumper sees it.
pub(crate) struct Observer {
    run: RunId,
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
    watches: Vec<Watch>,
    /// How far each kernel is.
    progress: Vec<AtomicU8>,
}

/// A subscription that takes part in the run.
pub(crate) struct Watch {
    pub routes: Arc<Routes>,
    pub subscription: Arc<Subscription>,
}

const BEGUN: u8 = 1;
const ENDED: u8 = 2;

impl Observer {
    pub fn new(run: &RunInfo<'_>, watches: Vec<Watch>) -> Self {
        let (graph, kernels) = (Arc::clone(run.graph), Arc::clone(run.kernels));
        let progress = kernels.iter().map(|_| AtomicU8::new(0)).collect();
        Self { run: run.id, graph, kernels, watches, progress }
    }

    fn deliver<'r>(
        &self,
        routes: impl Fn(&'r Watch) -> &'r [Route],
        tensors: &[TensorView<'_>],
        watches: &'r [Watch],
    ) -> Action {
        let mut stop = None;
        for watch in watches {
            for &route in routes(watch) {
                let origin = watch.routes.origin(route, Some(self.run));
                match tensors.get(route.engine_slot) {
                    Some(tensor) => stop = stop.or(watch.subscription.deliver(origin, route.siblings, tensor)),
                    None => {
                        let reason = "the engine did not give the tensor that it had announced".into();
                        watch.subscription.missing(Missing { origin, reason });
                    }
                }
            }
        }
        stop.map_or(Action::Continue, Action::Stop)
    }

    /// What was still to come when the run broke off.
    fn lose_the_rest(&self, reason: &str) {
        for watch in &self.watches {
            for kernel in self.kernels.iter() {
                let index = kernel.id.index();
                let progress = self.progress[index].load(Ordering::Relaxed);
                let before = watch.routes.before[index].iter().filter(|_| progress < BEGUN);
                let after = watch.routes.after[index].iter().filter(|_| progress < ENDED);
                for &route in before.chain(after) {
                    let origin = watch.routes.origin(route, Some(self.run));
                    let reason = format!("the run ended before it was computed: {reason}");
                    watch.subscription.missing(Missing { origin, reason });
                }
            }
        }
    }
}

impl RunObserver for Observer {
    fn interest(&self) -> Interest {
        if self.watches.is_empty() {
            return Interest::default();
        }
        // All of them, because a run that breaks off says where it was.
        Interest { before: Which::All, after: Which::All, times: false }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let index = dispatch.kernel.id.index();
        self.progress[index].store(BEGUN, Ordering::Relaxed);
        self.deliver(|watch| &watch.routes.before[index], inputs, &self.watches)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let index = dispatch.kernel.id.index();
        self.progress[index].store(ENDED, Ordering::Relaxed);
        self.deliver(|watch| &watch.routes.after[index], outputs, &self.watches)
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let failure = outcome.err().map(ToString::to_string);
        let mut in_flight = Vec::new();
        if let Some(reason) = &failure {
            self.lose_the_rest(reason);
            let begun = |kernel: &&Kernel| self.progress[kernel.id.index()].load(Ordering::Relaxed) == BEGUN;
            in_flight = self.kernels.iter().filter(begun).map(Kernel::operator).collect();
            in_flight.dedup();
        }
        for watch in &self.watches {
            watch.subscription.run_ended(RunOutcome {
                run: self.run,
                graph: Arc::clone(&self.graph),
                failure: failure.clone(),
                in_flight: in_flight.clone(),
            });
        }
    }
}
