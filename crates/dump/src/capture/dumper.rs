use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use opscope_clock::Clock;
use opscope_model::{Capabilities, Instrument, Kernel, Model, OpenRunInfo, Plan, RunId, RunInfo, RunObserver};
use opscope_onnx::{Graph, ValueId};
use opscope_sys::{Mutex, RwLock};
use opscope_tensor::TensorView;

use super::observer::{Constants, Observer, Watch};
use super::open::{OpenObserver, RunInputs};
use super::routes::{Route, Routes, is_weight};
use super::subscription::Subscription;
use crate::{Coverage, DumpError, DumpReport, InputEntry, Request, Sink, SubscriptionReport};

/// The instrument that captures tensors and delivers them to sinks.
///
/// Sinks [subscribe](Self::subscribe). Every plan is [added](Self::add_plan) before it runs, so that the values that
/// the engine computed at load are delivered, too. The dumper captures the runs that it
/// [observes](Instrument::observe). [`finish`](Self::finish) delivers what is still queued and reports the outcome.
#[derive(Default)]
pub struct Dumper {
    /// The clock by which the patience with sinks is measured.
    clock: Clock,
    subscriptions: RwLock<Vec<(Handle, Arc<Subscription>)>>,
    plans: Mutex<Vec<Arc<PlanRoutes>>>,
    /// The inputs of runs that have not begun.
    inputs: Mutex<HashMap<RunId, Arc<[InputEntry]>>>,
    /// The inputs of the current run of an open model.
    found_inputs: Arc<RunInputs>,
    next: Mutex<u64>,
}

/// Identifies a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle(u64);

/// The routes of a plan, and the subset that each subscription selected.
struct PlanRoutes {
    /// Kept alive, so that no other plan can get the same address.
    kernels: Arc<[Kernel]>,
    all: Routes,
    selected: Mutex<Vec<(Handle, Arc<Routes>)>>,
    /// The tensors that are the same in every run, and are captured in each run.
    constants: OnceLock<Arc<Constants>>,
}

impl Dumper {
    /// Creates a dumper without subscriptions. Without them it wants no calls from the engine.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a dumper that measures its patience with sinks by this clock: for tests and simulated time.
    pub fn with_clock(clock: Clock) -> Self {
        Self { clock, ..Self::default() }
    }

    /// Registers a sink. It gets nothing from runs that have already begun.
    ///
    /// # Errors
    /// Returns an error if no thread could be started for its queue.
    pub fn subscribe(&self, sink: Box<dyn Sink>, request: Request) -> Result<Handle, DumpError> {
        let mut next = self.next.lock();
        let handle = Handle(*next);
        *next += 1;
        let subscription = Arc::new(Subscription::new(sink, request, &self.clock)?);
        self.subscriptions.write().push((handle, subscription));
        Ok(handle)
    }

    /// Removes a sink: waits for the call in progress, delivers the queued tensors and closes the sink. The sink is not
    /// called afterwards. Returns `None` if it was already removed.
    ///
    /// # Errors
    /// Returns an error if the sink itself calls this.
    pub fn unsubscribe(&self, handle: Handle) -> Result<Option<SubscriptionReport>, DumpError> {
        let found = self.subscriptions().into_iter().find(|(other, _)| *other == handle);
        let Some((_, subscription)) = found else { return Ok(None) };
        let report = subscription.close()?;
        let mut subscriptions = self.subscriptions.write();
        subscriptions.retain(|(other, _)| *other != handle);
        Ok(report)
    }

    /// Adds a plan and delivers the values that are the same in every run: those that the engine computed when it
    /// loaded the model, and weights of the file. This must be called once per plan, before the plan runs and after the
    /// sinks that want those values have subscribed.
    ///
    /// # Errors
    /// Returns an error if those values cannot be read.
    pub fn add_plan(&self, model: &dyn Model, plan: &dyn Plan) -> Result<(), DumpError> {
        if self.plans.lock().iter().any(|known| Arc::ptr_eq(&known.kernels, plan.kernels())) {
            return Ok(());
        }
        let mut constants = HashSet::new();
        let collect = &mut |value, _: TensorView<'_>| {
            constants.insert(value);
            Ok(())
        };
        plan.constants(collect).map_err(DumpError::Constants)?;
        let routes = self.add_routes(model.graph(), plan.kernels(), &constants);
        let subscriptions = self.subscriptions();
        let selected: Vec<_> = subscriptions.iter().map(|(handle, s)| (s, routes.selected(*handle, s))).collect();
        for (subscription, selected) in &selected {
            selected.missing().for_each(|missing| subscription.missing(missing));
        }
        let in_runs = |routes: &Arc<Routes>| {
            let routes = routes.constant_before.iter().flatten().chain(&routes.constant_other);
            routes.map(|route| route.value).collect::<Vec<_>>()
        };
        let kept: HashSet<ValueId> = selected.iter().flat_map(|(_, selected)| in_runs(selected)).collect();
        let before = self.plans.lock().iter().rev().find_map(|plan| plan.constants.get().cloned());
        let mut copies = Constants::new();
        let mut deliver = |value: ValueId, tensor: &TensorView<'_>| {
            // A tensor without a byte form is missing in each run.
            if let (true, Ok(copy)) = (kept.contains(&value), tensor.to_tensor()) {
                // Plans for other shapes have the same weights, so the copy is shared.
                let known = before.as_ref().and_then(|before| before.get(&value)).filter(|known| **known == copy);
                copies.insert(value, known.cloned().unwrap_or(copy));
            }
            for (subscription, selected) in &selected {
                for &route in selected.constant.iter().filter(|route| route.value == value) {
                    subscription.deliver(selected.origin(route, None, &[]), route.siblings, tensor, &|| None);
                }
            }
        };
        plan.constants(&mut |value, tensor| {
            deliver(value, &tensor);
            Ok(())
        })
        .map_err(DumpError::Constants)?;
        let graph = model.graph();
        let in_file = |route: &&Route| !constants.contains(&route.value) && is_weight(graph, route.value);
        let mut weights: HashSet<ValueId> =
            selected.iter().flat_map(|(_, s)| s.constant.iter().filter(in_file).map(|route| route.value)).collect();
        weights.extend(kept.iter().filter(|value| !constants.contains(value) && is_weight(graph, **value)));
        let mut read = Ok(());
        if !weights.is_empty() {
            read = graph.initializers(
                |value| weights.contains(&value),
                |value, tensor| {
                    deliver(value, &tensor.view());
                    Ok(())
                },
            );
        }
        routes.constants.get_or_init(|| Arc::new(copies));
        read
    }

    /// Sets the inputs of a run, so that a comparison can tell whether another run had the same inputs. This must be
    /// called before the run is observed. Runs with the same inputs share one set.
    pub fn set_inputs(&self, run: RunId, inputs: Arc<[InputEntry]>) {
        self.inputs.lock().insert(run, inputs);
    }

    /// Adds an input to the current run of an open model: a tensor that none of its operators has computed.
    pub fn add_input(&self, input: InputEntry) {
        self.found_inputs.lock().push(input);
    }

    /// Sets what was seen of an open model, and what could not be seen, for the manifest.
    pub fn set_coverage(&self, coverage: &Coverage) {
        self.subscriptions().iter().for_each(|(_, subscription)| subscription.set_coverage(coverage));
    }

    /// Records that runs are missing, for example because of an interruption. The dump then counts as incomplete, even
    /// if every run that took place was captured completely.
    pub fn set_incomplete(&self, reason: &str) {
        self.subscriptions().iter().for_each(|(_, subscription)| subscription.set_incomplete(reason));
    }

    /// Sets the deadline for the delivery of queued tensors. Those that still wait then are listed as missing. Only the
    /// first call has an effect.
    pub fn give_up_at(&self, deadline: Instant) {
        self.subscriptions().iter().for_each(|(_, subscription)| subscription.give_up_at(deadline));
    }

    /// Ends all subscriptions: delivers the queued tensors, closes the sinks, and reports the outcome.
    ///
    /// # Errors
    /// Returns an error if a sink calls this.
    pub fn finish(&self) -> Result<DumpReport, DumpError> {
        let subscriptions = self.subscriptions().into_iter().map(|(handle, _)| self.unsubscribe(handle));
        let reports: Result<Vec<_>, _> = subscriptions.collect();
        Ok(DumpReport { subscriptions: reports?.into_iter().flatten().collect() })
    }

    fn subscriptions(&self) -> Vec<(Handle, Arc<Subscription>)> {
        self.subscriptions.read().clone()
    }

    fn routes_of(&self, graph: &Arc<Graph>, kernels: &Arc<[Kernel]>) -> Arc<PlanRoutes> {
        let known = self.plans.lock().iter().find(|known| Arc::ptr_eq(&known.kernels, kernels)).cloned();
        known.unwrap_or_else(|| self.add_routes(graph, kernels, &HashSet::new()))
    }

    fn add_routes(&self, graph: &Arc<Graph>, kernels: &Arc<[Kernel]>, constants: &HashSet<ValueId>) -> Arc<PlanRoutes> {
        let mut plans = self.plans.lock();
        let all = Routes::new(graph, plans.len(), kernels, constants);
        let routes = Arc::new(PlanRoutes {
            kernels: Arc::clone(kernels),
            all,
            selected: Mutex::default(),
            constants: OnceLock::new(),
        });
        plans.push(Arc::clone(&routes));
        routes
    }
}

impl Instrument for Dumper {
    fn name(&self) -> &str {
        "dumper"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { intermediates: true, names: true, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        let routes = self.routes_of(run.graph, run.kernels);
        let watches = self.subscriptions().into_iter().filter(|(_, s)| s.selection.runs.contains(run.id));
        let watches = watches.map(|(handle, s)| Watch { routes: routes.selected(handle, &s), subscription: s });
        let inputs = self.inputs.lock().remove(&run.id);
        Box::new(Observer::new(run, watches.collect(), inputs, routes.constants.get().cloned()))
    }

    fn observe_open(self: Arc<Self>, run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        let subscriptions = self.subscriptions().into_iter().filter(|(_, s)| s.selection.runs.contains(run.id));
        let subscriptions = subscriptions.map(|(_, subscription)| subscription).collect();
        self.found_inputs.lock().clear();
        Some(Arc::new(OpenObserver::new(run, subscriptions, Arc::clone(&self.found_inputs))))
    }
}

impl PlanRoutes {
    fn selected(&self, handle: Handle, subscription: &Subscription) -> Arc<Routes> {
        let mut selected = self.selected.lock();
        if let Some((_, routes)) = selected.iter().find(|(other, _)| *other == handle) {
            return Arc::clone(routes);
        }
        let routes = Arc::new(self.all.selected(&subscription.selection, subscription.constants_in_runs));
        selected.push((handle, Arc::clone(&routes)));
        routes
    }
}
