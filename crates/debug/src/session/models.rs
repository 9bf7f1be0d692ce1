use std::sync::{Arc, OnceLock, Weak};

use opscope_model::{DeviceTensors, Dispatch, Fidelity, Kernel};
use opscope_onnx::Graph;

use super::options::LoadedModel;
use super::sites::Site;
use crate::event::{EventKind, ModelId};
use crate::run::{FlawedInitializers, FoundOperators, PlanInfo};

/// The models that the program has loaded, and their newest plans.
#[derive(Default)]
pub(super) struct Models {
    known: Vec<Model>,
    /// The number of the model that was added last.
    last: u32,
}

struct Model {
    id: ModelId,
    /// The graph that it was loaded with, by which it is found again.
    loaded: Weak<Graph>,
    /// Its graph: the one that it was loaded with, or the newest one of an open model.
    graph: Weak<Graph>,
    /// The operators of an open model that were found so far.
    found: Option<FoundOperators>,
    fidelity: Fidelity,
    /// Whether its engine executes an operator even if it is skipped, and then replaces its outputs.
    executes_skipped: bool,
    /// How many handles to it exist.
    handles: usize,
    /// The newest plans, the newest last.
    plans: Vec<Arc<PlanInfo>>,
    /// Computed when a debugger first watches for NaN or infinity.
    flawed: Arc<OnceLock<FlawedInitializers>>,
    /// The event that announced it, which is replayed for clients that attach later.
    announced: EventKind,
    /// The outputs of the run that ended last, if they were kept.
    outputs: Option<Arc<dyn DeviceTensors>>,
}

/// The number of plans that are stored of a model.
const PLANS: usize = 16;

impl Model {
    /// Returns whether only the stored plans still refer to it.
    fn is_unused(&self) -> bool {
        let is_idle = self.plans.iter().all(|plan| Arc::strong_count(plan) == 1);
        self.handles == 0 && is_idle && self.found.is_none() && self.graph.strong_count() <= self.plans.len()
    }
}

impl Models {
    /// Returns the number of a model that was added before.
    pub fn find(&self, graph: &Arc<Graph>, fidelity: Fidelity) -> Option<ModelId> {
        let same = |model: &&Model| model.fidelity == fidelity && model.loaded.as_ptr() == Arc::as_ptr(graph);
        self.known.iter().find(same).map(|model| model.id)
    }

    /// Returns the models that the program has dropped without unloading them.
    pub fn unused(&self) -> Vec<ModelId> {
        self.known.iter().filter(|model| model.is_unused()).map(|model| model.id).collect()
    }

    /// Adds a model and returns its number with the event that announces it.
    pub fn add(&mut self, graph: &Arc<Graph>, fidelity: Fidelity) -> (ModelId, EventKind) {
        self.last += 1;
        let id = ModelId(self.last);
        let announced = EventKind::ModelLoaded {
            model: id,
            name: graph.name.as_str().into(),
            path: graph.source.path.to_string_lossy().into(),
            fidelity,
            operators: graph.all_operators().count() as u32,
        };
        self.known.push(Model {
            id,
            loaded: Arc::downgrade(graph),
            graph: Arc::downgrade(graph),
            found: graph.part.map(|_| FoundOperators::new(graph)),
            fidelity,
            executes_skipped: false,
            handles: 0,
            plans: Vec::new(),
            flawed: Arc::default(),
            announced: announced.clone(),
            outputs: None,
        });
        (id, announced)
    }

    pub fn remove(&mut self, id: ModelId) {
        self.known.retain(|known| known.id != id);
    }

    /// Counts one more handle to a model.
    pub fn hold(&mut self, id: ModelId) {
        self.known.iter_mut().filter(|model| model.id == id).for_each(|model| model.handles += 1);
    }

    pub fn set_executes_skipped(&mut self, id: ModelId, executes_skipped: bool) {
        self.known
            .iter_mut()
            .filter(|model| model.id == id)
            .for_each(|model| model.executes_skipped = executes_skipped);
    }

    /// Counts one handle less to a model, and returns whether it was the last one.
    pub fn release(&mut self, id: ModelId) -> bool {
        let Some(model) = self.known.iter_mut().find(|model| model.id == id) else { return false };
        model.handles -= 1;
        model.handles == 0
    }

    /// Returns the information about a plan of a model, and stores it if the plan is new.
    pub fn plan(&mut self, id: ModelId, graph: &Arc<Graph>, kernels: &Arc<[Kernel]>) -> Arc<PlanInfo> {
        let Some(model) = self.known.iter_mut().find(|model| model.id == id) else {
            return Arc::new(PlanInfo::new(id, graph, kernels, Arc::default()));
        };
        if let Some(plan) = model.plans.iter().find(|plan| Arc::ptr_eq(&plan.kernels, kernels)) {
            return Arc::clone(plan);
        }
        let mut plan = PlanInfo::new(id, graph, kernels, Arc::clone(&model.flawed));
        plan.executes_skipped = model.executes_skipped;
        let plan = Arc::new(plan);
        if model.plans.len() == PLANS {
            model.plans.remove(0);
        }
        model.plans.push(Arc::clone(&plan));
        plan
    }

    /// Enters an operator of an open model, or that it takes other values than before. Returns whether that is new.
    pub fn found(&mut self, id: ModelId, dispatch: &Dispatch<'_>) -> bool {
        let model = self.known.iter_mut().find(|model| model.id == id);
        let Some(found) = model.and_then(|model| model.found.as_mut()) else { return false };
        let is_new = !found.is_known(dispatch);
        if is_new {
            found.enter(dispatch);
        }
        is_new
    }

    /// Returns a plan of all operators of an open model that were found so far, which becomes its newest one.
    pub fn grow(&mut self, id: ModelId) -> Option<Arc<PlanInfo>> {
        let model = self.known.iter_mut().find(|model| model.id == id)?;
        let (graph, kernels) = model.found.as_ref()?.graph();
        model.graph = Arc::downgrade(&graph);
        if let EventKind::ModelLoaded { operators, .. } = &mut model.announced {
            *operators = kernels.len() as u32;
        }
        // A file that has initializers would be read for them. A program has none.
        let flawed = Arc::new(OnceLock::from(FlawedInitializers::new()));
        let mut plan = PlanInfo::new(id, &graph, &kernels, flawed);
        plan.executes_skipped = model.executes_skipped;
        let plan = Arc::new(plan);
        model.plans = vec![Arc::clone(&plan)];
        Some(plan)
    }

    /// Returns the open models of which operators were found that their newest plans do not have.
    pub fn grown(&self) -> Vec<ModelId> {
        let has_grown = |model: &&Model| {
            let known = model.plans.last().map_or(0, |plan| plan.kernels.len());
            model.found.as_ref().is_some_and(|found| found.len() > known)
        };
        self.known.iter().filter(has_grown).map(|model| model.id).collect()
    }

    /// Returns the events that announced the models.
    pub fn announced(&self) -> impl Iterator<Item = EventKind> {
        self.known.iter().map(|model| model.announced.clone())
    }

    pub fn loaded(&self) -> Vec<LoadedModel> {
        let models = self.known.iter().filter_map(|model| {
            let graph = model.graph.upgrade()?;
            Some(LoadedModel {
                model: model.id,
                name: graph.name.clone(),
                path: graph.source.path.display().to_string(),
                fidelity: model.fidelity,
                operators: graph.all_operators().count() as u32,
            })
        });
        models.collect()
    }

    pub fn graph(&self, id: ModelId) -> Option<Arc<Graph>> {
        self.known.iter().find(|model| model.id == id)?.graph.upgrade()
    }

    /// Keeps the outputs of a run, and returns those that were kept before.
    pub fn keep_outputs(&mut self, id: ModelId, outputs: Arc<dyn DeviceTensors>) -> Option<Arc<dyn DeviceTensors>> {
        self.known.iter_mut().find(|model| model.id == id)?.outputs.replace(outputs)
    }

    pub fn kept_outputs(&self, id: ModelId) -> Option<Arc<dyn DeviceTensors>> {
        self.known.iter().find(|model| model.id == id)?.outputs.clone()
    }

    pub fn graphs(&self) -> Vec<(ModelId, Arc<Graph>)> {
        self.known.iter().filter_map(|model| Some((model.id, model.graph.upgrade()?))).collect()
    }

    /// Returns a model's newest plan; `None` before its first one.
    pub fn newest_plan(&self, id: ModelId) -> Option<Arc<PlanInfo>> {
        self.known.iter().find(|model| model.id == id)?.plans.last().cloned()
    }

    /// Returns each model with its newest plan.
    pub fn sites(&self) -> Vec<Site> {
        let site = |model: &Model| {
            Some(Site { model: model.id, graph: model.graph.upgrade()?, plan: model.plans.last().cloned() })
        };
        self.known.iter().filter_map(site).collect()
    }
}
