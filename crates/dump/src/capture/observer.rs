use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Interest, Iteration, Kernel, KernelId, KernelSet, LiveValues, NoLiveValues, RunId,
    RunInfo, RunObserver,
};
use opscope_onnx::{Graph, ValueId};
use opscope_sys::{Mutex, MutexGuard};
use opscope_tensor::{Tensor, TensorView};

use super::routes::{Route, Routes};
use super::subscription::Subscription;
use crate::stream::outcome::RunOutcome;
use crate::{InputEntry, Io, Missing};

/// The observer of one run.
pub(crate) struct Observer {
    run: RunId,
    graph: Arc<Graph>,
    kernels: Arc<[Kernel]>,
    watches: Vec<Watch>,
    inputs: Option<Arc<[InputEntry]>>,
    /// The tensors that are the same in every run, and are captured in each run.
    constants: Option<Arc<Constants>>,
    /// The progress of each kernel.
    progress: Vec<AtomicU8>,
    /// Whether a kernel with captured outputs has ended.
    has_computed: AtomicBool,
    /// The paths of those kernels in flight that are in bodies.
    paths: Mutex<HashMap<KernelId, Box<[Iteration]>>>,
    /// Copies of the inputs of kernels in flight that no subscription captures.
    held: Mutex<HashMap<KernelId, Vec<(ValueId, Tensor)>>>,
}

/// Tensors that are the same in every run.
pub(crate) type Constants = HashMap<ValueId, Tensor>;

/// A subscription that takes part in the run.
pub(crate) struct Watch {
    pub routes: Arc<Routes>,
    pub subscription: Arc<Subscription>,
}

impl Watch {
    fn wants_in_flight(&self) -> bool {
        self.subscription.inputs_in_flight
    }
}

const BEGUN: u8 = 1;
const ENDED: u8 = 2;

impl Observer {
    pub fn new(
        run: &RunInfo<'_>,
        watches: Vec<Watch>,
        inputs: Option<Arc<[InputEntry]>>,
        constants: Option<Arc<Constants>>,
    ) -> Self {
        let (graph, kernels) = (Arc::clone(run.graph), Arc::clone(run.kernels));
        let progress = kernels.iter().map(|_| AtomicU8::new(0)).collect();
        let has_computed = AtomicBool::new(false);
        let (paths, held) = (Mutex::default(), Mutex::default());
        Self { run: run.id, graph, kernels, watches, inputs, constants, progress, has_computed, paths, held }
    }

    /// Delivers the constants that belong to no kernel, once the run has computed something to capture. A run that
    /// fails at once delivers nothing.
    fn deliver_other_constants(&self) -> Option<String> {
        let is_first = !self.has_computed.swap(true, Ordering::Relaxed);
        is_first.then(|| self.deliver_constants(&[], |watch| &watch.routes.constant_other)).flatten()
    }

    /// Delivers tensors that are the same in every run.
    fn deliver_constants<'r>(
        &'r self,
        path: &[Iteration],
        routes: impl Fn(&'r Watch) -> &'r [Route],
    ) -> Option<String> {
        let mut stop = None;
        for watch in &self.watches {
            for &route in routes(watch) {
                let origin = watch.routes.origin(route, Some(self.run), path);
                match self.constants.as_ref().and_then(|constants| constants.get(&route.value)) {
                    Some(tensor) => {
                        stop = stop.or(watch.subscription.deliver(origin, route.siblings, &tensor.view(), &|| None));
                    }
                    None => {
                        let reason = "it was not there when the model was loaded".into();
                        watch.subscription.missing(Missing { origin, reason });
                    }
                }
            }
        }
        stop
    }

    fn deliver<'r>(
        &'r self,
        path: &[Iteration],
        routes: impl Fn(&'r Watch) -> &'r [Route],
        tensors: &[TensorView<'_>],
        live: &dyn LiveValues,
    ) -> Action {
        let mut stop = None;
        for watch in &self.watches {
            for &route in routes(watch) {
                let origin = watch.routes.origin(route, Some(self.run), path);
                match tensors.get(route.engine_slot) {
                    Some(tensor) => {
                        let keep = || live.keep(route.value);
                        stop = stop.or(watch.subscription.deliver(origin, route.siblings, tensor, &keep));
                    }
                    None => {
                        let reason = "the engine did not give the tensor that it had announced".into();
                        watch.subscription.missing(Missing { origin, reason });
                    }
                }
            }
        }
        stop.map_or(Action::Continue, Action::Stop)
    }

    /// Returns whether a subscription wants the inputs in flight but would lack those of this kernel if the run failed
    /// in it.
    fn holds(&self, index: usize) -> bool {
        self.watches.iter().any(|watch| watch.wants_in_flight() && !watch.routes.uncaptured[index].is_empty())
    }

    fn hold(&self, kernel: &Kernel, inputs: &[TensorView<'_>]) {
        let mut copies: Vec<(ValueId, Tensor)> = Vec::new();
        for watch in self.watches.iter().filter(|watch| watch.wants_in_flight()) {
            for &(slot, value) in &watch.routes.uncaptured[kernel.id.index()] {
                if copies.iter().all(|(held, _)| *held != value)
                    && let Some(Ok(tensor)) = inputs.get(slot).map(TensorView::to_tensor)
                {
                    copies.push((value, tensor));
                }
            }
        }
        self.held.lock().insert(kernel.id, copies);
    }

    /// Delivers the inputs of the operators in flight.
    fn deliver_held(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        for (kernel, copies) in held {
            let Some(operator) = self.kernels[kernel.index()].operator() else { continue };
            let operator = self.graph.operator(operator);
            for watch in self.watches.iter().filter(|watch| watch.wants_in_flight()) {
                let wanted = &watch.routes.uncaptured[kernel.index()];
                for (value, tensor) in copies.iter().filter(|(held, _)| wanted.iter().any(|(_, value)| value == held)) {
                    let slot = operator.inputs.iter().position(|input| *input == Some(*value)).unwrap_or(0);
                    let route = Route {
                        engine_slot: 0,
                        operator: operator.id,
                        io: Io::Input,
                        slot,
                        value: *value,
                        siblings: 1,
                    };
                    let origin = watch.routes.origin(route, Some(self.run), &self.path_of(kernel));
                    watch.subscription.deliver(origin, 1, &tensor.view(), &|| None);
                }
            }
        }
    }

    /// Returns the path of a kernel in flight.
    fn path_of(&self, kernel: KernelId) -> Box<[Iteration]> {
        self.paths().get(&kernel).cloned().unwrap_or_default()
    }

    fn paths(&self) -> MutexGuard<'_, HashMap<KernelId, Box<[Iteration]>>> {
        self.paths.lock()
    }

    /// Returns whether the run has left the body of a kernel without executing the kernel, for example in the branch of
    /// an `If` that was not taken.
    fn is_passed(&self, kernel: &Kernel) -> bool {
        let owners = kernel.operator().map(|operator| self.graph.owners_of(operator)).unwrap_or_default();
        !owners.is_empty()
            && self.progress[kernel.id.index()].load(Ordering::Relaxed) < BEGUN
            && self.kernels.iter().any(|other| {
                other.operator().is_some_and(|operator| owners.contains(&operator))
                    && self.progress[other.id.index()].load(Ordering::Relaxed) == ENDED
            })
    }

    /// Reports as missing all tensors that were still to come when the run failed, except those that are the same in
    /// every run.
    fn lose_the_rest(&self, reason: &str) {
        for watch in &self.watches {
            for kernel in self.kernels.iter().filter(|kernel| !self.is_passed(kernel)) {
                let index = kernel.id.index();
                let progress = self.progress[index].load(Ordering::Relaxed);
                let before = watch.routes.before[index].iter().chain(&watch.routes.constant_before[index]);
                let before = before.filter(|_| progress < BEGUN);
                let after = watch.routes.after[index].iter().filter(|_| progress < ENDED);
                for &route in before.chain(after) {
                    let origin = watch.routes.origin(route, Some(self.run), &self.path_of(kernel.id));
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
        let captures = |index: usize| {
            let routes = |routes: &Routes| routes.before[index].len() + routes.constant_before[index].len();
            self.holds(index) || self.watches.iter().any(|watch| routes(&watch.routes) > 0)
        };
        let before = (0..self.kernels.len()).map(captures).collect();
        let keeps = self.watches.iter().any(|watch| watch.subscription.reads_in_place());
        // The starts and ends of all kernels are wanted, because a failed run must report the kernels in flight.
        Interest { before: KernelSet::Mask(before), after: KernelSet::All, starts: true, keeps, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let index = dispatch.kernel.id.index();
        let before = self.progress[index].load(Ordering::Relaxed);
        self.started(dispatch.kernel.id, dispatch.path);
        if self.holds(index) {
            self.hold(dispatch.kernel, inputs);
        }
        // An operator in a loop must deliver all its tensors in each iteration.
        if (before < BEGUN || !dispatch.path.is_empty())
            && let Some(reason) = self.deliver_constants(dispatch.path, |watch| &watch.routes.constant_before[index])
        {
            return Action::Stop(reason);
        }
        self.deliver(dispatch.path, |watch| &watch.routes.before[index], inputs, &NoLiveValues)
    }

    fn started(&self, kernel: KernelId, path: &[Iteration]) {
        let progress = &self.progress[kernel.index()];
        if path.is_empty() {
            // Some engines report the start only when the kernel has ended.
            progress.fetch_max(BEGUN, Ordering::Relaxed);
        } else {
            progress.store(BEGUN, Ordering::Relaxed);
            self.paths().insert(kernel, path.into());
        }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let index = dispatch.kernel.id.index();
        self.progress[index].store(ENDED, Ordering::Relaxed);
        if !dispatch.path.is_empty() {
            self.paths().remove(&dispatch.kernel.id);
        }
        if self.holds(index) {
            self.held.lock().remove(&dispatch.kernel.id);
        }
        let is_captured = self.watches.iter().any(|watch| !watch.routes.after[index].is_empty());
        if is_captured && let Some(reason) = self.deliver_other_constants() {
            return Action::Stop(reason);
        }
        self.deliver(dispatch.path, |watch| &watch.routes.after[index], outputs, dispatch.live)
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let failure = outcome.err().map(ToString::to_string);
        let mut in_flight = Vec::new();
        if failure.is_none() {
            // A model may consist of constants only.
            self.deliver_other_constants();
        }
        if let Some(reason) = &failure {
            self.deliver_held();
            self.lose_the_rest(reason);
            let has_begun = |kernel: &&Kernel| self.progress[kernel.id.index()].load(Ordering::Relaxed) == BEGUN;
            let begun = self.kernels.iter().filter(has_begun);
            in_flight = begun.filter_map(|kernel| Some((kernel.operator()?, self.path_of(kernel.id)))).collect();
            in_flight.dedup();
        }
        for watch in &self.watches {
            watch.subscription.run_ended(RunOutcome {
                run: self.run,
                graph: Arc::clone(&self.graph),
                inputs: self.inputs.clone(),
                failure: failure.clone(),
                in_flight: in_flight.clone(),
            });
        }
    }
}
