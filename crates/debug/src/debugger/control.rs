use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, Weak};

use opscope_model::{Fidelity, Kernel, RunId};
use opscope_onnx::Graph;

use super::Shared;
use crate::breakpoint::Breakpoint;
use crate::entering::Flawed;
use crate::plan::PlanInfo;
use crate::queues::{Generation, StoppedRun};
use crate::run::{Pause, Run};
use crate::table::Table;
use crate::{
    AttachOptions, BreakpointId, BreakpointInfo, BreakpointLocation, DebugError, EventKind, EventName, EventSet, Fate,
    LoadedModel, ModelId, RunState, Sequence,
};

/// What the program does, and what the client wants.
#[derive(Default)]
pub(crate) struct Control {
    pub attached: Option<(Generation, AttachOptions)>,
    breakpoints: BTreeMap<BreakpointId, Arc<Breakpoint>>,
    last_breakpoint: u32,
    models: Vec<Model>,
    last_model: u32,
    runs: Vec<Arc<Run>>,
    /// What the client wants of the runs of each plan, until it wants something else.
    tables: Vec<(Weak<PlanInfo>, Arc<Table>)>,
    /// How many of the runs to come stop at their first operator: a pause found none, or one that was at its end.
    pauses: usize,
}

struct Model {
    id: ModelId,
    graph: Weak<Graph>,
    fidelity: Fidelity,
    /// How many handles there are to it.
    handles: usize,
    /// The newest plans.
    plans: Vec<Arc<PlanInfo>>,
    /// Of the file's initializers, when they were looked through.
    flawed: Arc<OnceLock<Flawed>>,
    told: EventKind,
}

impl Model {
    /// Whether nobody has it any more but the plans that are remembered of it.
    fn is_gone(&self) -> bool {
        let is_idle = self.plans.iter().all(|plan| Arc::strong_count(plan) == 1);
        self.handles == 0 && is_idle && self.graph.strong_count() <= self.plans.len()
    }
}

/// How many plans of a model are remembered.
const PLANS: usize = 16;

/// How many breakpoints there can be.
const BREAKPOINTS: usize = 1000;

impl Control {
    /// The number of a model. One that is new is told; the caller has to wait at that event.
    pub fn model(&mut self, shared: &Shared, graph: &Arc<Graph>, fidelity: Fidelity) -> (ModelId, Option<Sequence>) {
        let same = |model: &&Model| model.fidelity == fidelity && model.graph.as_ptr() == Arc::as_ptr(graph);
        if let Some(known) = self.models.iter().find(same) {
            return (known.id, None);
        }
        // Models that nobody unloaded in words.
        let gone: Vec<ModelId> = self.models.iter().filter(|model| model.is_gone()).map(|model| model.id).collect();
        for model in gone {
            self.remove_model(model);
            if shared.wants(EventName::ModelUnloaded) {
                shared.queues.post(EventKind::ModelUnloaded { model });
            }
        }
        self.last_model += 1;
        let id = ModelId(self.last_model);
        let told = EventKind::ModelLoaded {
            model: id,
            name: graph.name.as_str().into(),
            path: graph.source.path.to_string_lossy().into(),
            fidelity,
            operators: graph.operators.len() as u32,
        };
        self.models.push(Model {
            id,
            graph: Arc::downgrade(graph),
            fidelity,
            handles: 0,
            plans: Vec::new(),
            flawed: Arc::default(),
            told: told.clone(),
        });
        (id, shared.announce(told))
    }

    /// There is one more handle to a model.
    pub fn hold(&mut self, id: ModelId) {
        self.models.iter_mut().filter(|model| model.id == id).for_each(|model| model.handles += 1);
    }

    /// There is one handle less to a model. Whether it was the last one, and the model is unloaded.
    pub fn unload(&mut self, id: ModelId) -> bool {
        let Some(at) = self.models.iter().position(|model| model.id == id) else { return false };
        self.models[at].handles -= 1;
        let is_last = self.models[at].handles == 0;
        if is_last {
            self.remove_model(id);
        }
        is_last
    }

    fn remove_model(&mut self, id: ModelId) {
        self.models.retain(|known| known.id != id);
        self.breakpoints.values().for_each(|breakpoint| breakpoint.forget(id));
    }

    /// What is known of a plan. A model that is new with it is told; the caller has to wait at that event.
    pub fn plan(
        &mut self,
        shared: &Shared,
        graph: &Arc<Graph>,
        fidelity: Fidelity,
        kernels: &Arc<[Kernel]>,
    ) -> (Arc<PlanInfo>, Option<Sequence>) {
        let (id, told) = self.model(shared, graph, fidelity);
        let known = self.models.iter_mut().find(|model| model.id == id);
        let Some(model) = known else { return (Arc::new(PlanInfo::new(id, graph, kernels, Arc::default())), told) };
        if let Some(plan) = model.plans.iter().find(|plan| Arc::ptr_eq(&plan.kernels, kernels)) {
            return (Arc::clone(plan), told);
        }
        let plan = Arc::new(PlanInfo::new(id, graph, kernels, Arc::clone(&model.flawed)));
        if model.plans.len() == PLANS {
            model.plans.remove(0);
        }
        model.plans.push(Arc::clone(&plan));
        (plan, told)
    }

    /// A run is there; it does at once what the client wants.
    pub fn begin(&mut self, run: &Arc<Run>) {
        self.runs.push(Arc::clone(run));
        if let Some(table) = self.table(&run.plan) {
            let pause = (self.pauses > 0).then_some(Pause::Any);
            self.pauses -= usize::from(pause.is_some());
            run.change(|course| (course.table, course.pause) = (Some(table), pause));
        }
    }

    pub fn end(&mut self, run: &Arc<Run>) {
        self.runs.retain(|known| !Arc::ptr_eq(known, run));
    }

    /// What a client is told that comes now.
    pub fn replay(&self, events: EventSet) -> Vec<EventKind> {
        let mut replay: Vec<EventKind> = self.models.iter().map(|model| model.told.clone()).collect();
        for run in &self.runs {
            replay.push(EventKind::RunCreated { run: run.id, model: run.plan.model });
            if run.is_going_on() {
                replay.push(EventKind::RunPushed { run: run.id });
            }
        }
        replay.retain(|kind| events.contains(kind.name()));
        replay.push(EventKind::AttachComplete);
        replay
    }

    /// Lets every run know what the client wants now.
    pub fn steer(&mut self) {
        self.tables.clear();
        let runs = std::mem::take(&mut self.runs);
        for run in &runs {
            let table = self.table(&run.plan);
            run.change(|course| {
                if table.is_none() {
                    (course.step, course.pause) = (None, None);
                }
                course.table = table;
            });
        }
        self.runs = runs;
    }

    fn table(&mut self, plan: &Arc<PlanInfo>) -> Option<Arc<Table>> {
        let (debugger, options) = self.attached.as_ref()?;
        if let Some((_, table)) = self.tables.iter().find(|(known, _)| known.as_ptr() == Arc::as_ptr(plan)) {
            return Some(Arc::clone(table));
        }
        let table =
            Arc::new(Table::new(*debugger, plan, self.breakpoints.values(), options.events, options.statistics));
        self.tables.retain(|(known, _)| known.strong_count() > 0);
        self.tables.push((Arc::downgrade(plan), Arc::clone(&table)));
        Some(table)
    }

    /// The client is gone: so are its breakpoints.
    pub fn forget_wishes(&mut self) {
        self.breakpoints.clear();
        self.pauses = 0;
    }

    /// Sets a breakpoint and gives it its number.
    ///
    /// # Errors
    /// When there are as many as there can be.
    pub fn add_breakpoint(&mut self, mut breakpoint: Breakpoint) -> Result<BreakpointInfo, DebugError> {
        if self.breakpoints.len() >= BREAKPOINTS {
            return Err(DebugError::TooManyBreakpoints(BREAKPOINTS));
        }
        self.last_breakpoint += 1;
        breakpoint.id = BreakpointId(self.last_breakpoint);
        Ok(self.set_breakpoint(breakpoint))
    }

    /// Sets a breakpoint in the place of the one of its number.
    pub fn set_breakpoint(&mut self, breakpoint: Breakpoint) -> BreakpointInfo {
        let breakpoint = Arc::new(breakpoint);
        self.breakpoints.insert(breakpoint.id, Arc::clone(&breakpoint));
        self.steer();
        info(&breakpoint, &self.sites(), most_locations(1))
    }

    pub fn breakpoint(&self, id: BreakpointId) -> Result<Arc<Breakpoint>, DebugError> {
        self.breakpoints.get(&id).cloned().ok_or(DebugError::NoSuchBreakpoint(id))
    }

    pub fn remove_breakpoint(&mut self, id: BreakpointId) -> Result<(), DebugError> {
        self.breakpoints.remove(&id).ok_or(DebugError::NoSuchBreakpoint(id))?;
        self.steer();
        Ok(())
    }

    /// Takes away the one-shot breakpoints that have stopped a run.
    pub fn remove_spent(&mut self, spent: &[BreakpointId]) {
        self.breakpoints.retain(|id, breakpoint| !(spent.contains(id) && breakpoint.is_one_shot()));
        self.steer();
    }

    pub fn breakpoints(&self) -> Vec<Arc<Breakpoint>> {
        self.breakpoints.values().cloned().collect()
    }

    /// Where breakpoints can be.
    pub fn sites(&self) -> Vec<Site> {
        let site = |model: &Model| {
            Some(Site { model: model.id, graph: model.graph.upgrade()?, plan: model.plans.last().cloned() })
        };
        self.models.iter().filter_map(site).collect()
    }

    /// Runs stop at their next operator; where there is none, the next one to come does. So does it for one of all that
    /// ends before. How many were asked.
    pub fn pause(&mut self, only: Option<RunId>, stopped: &[StoppedRun]) -> usize {
        let mut there =
            self.runs.iter().filter(|run| !run.is_over() && only.is_none_or(|only| run.id == only)).peekable();
        self.pauses = usize::from(there.peek().is_none() && only.is_none());
        let pause = if only.is_some() { Pause::This } else { Pause::Any };
        let is_there = |run: RunId| stopped.iter().any(|stopped| stopped.run == run && stopped.at_operator);
        let asked = there.filter(|run| !is_there(run.id));
        asked.map(|run| run.change(|course| course.pause = course.table.as_ref().map(|_| pause))).count()
    }

    /// A run that was to stop is over: the next one does.
    pub fn pause_next_run(&mut self) {
        self.pauses += 1;
    }

    pub fn loaded(&self) -> Vec<LoadedModel> {
        let models = self.models.iter().filter_map(|model| {
            let graph = model.graph.upgrade()?;
            Some(LoadedModel {
                model: model.id,
                name: graph.name.clone(),
                path: graph.source.path.display().to_string(),
                fidelity: model.fidelity,
                operators: graph.operators.len() as u32,
            })
        });
        models.collect()
    }

    pub fn runs(&self, stopped: &[StoppedRun]) -> Vec<RunState> {
        let event = |run: RunId| stopped.iter().find(|stopped| stopped.run == run).map(|stopped| stopped.event);
        self.runs.iter().map(|run| run.state(event(run.id))).collect()
    }

    pub fn graph(&self, id: ModelId) -> Option<Arc<Graph>> {
        self.models.iter().find(|model| model.id == id)?.graph.upgrade()
    }

    pub fn graphs(&self) -> Vec<(ModelId, Arc<Graph>)> {
        self.models.iter().filter_map(|model| Some((model.id, model.graph.upgrade()?))).collect()
    }

    /// The kernels of a model's newest plan.
    pub fn kernels(&self, id: ModelId) -> Option<Arc<PlanInfo>> {
        self.models.iter().find(|model| model.id == id)?.plans.last().cloned()
    }
}

/// A model, and its newest plan.
pub(crate) struct Site {
    model: ModelId,
    graph: Arc<Graph>,
    plan: Option<Arc<PlanInfo>>,
}

/// A breakpoint as a client is told of it, with at most so many places in each model.
pub(crate) fn info(breakpoint: &Breakpoint, sites: &[Site], most: usize) -> BreakpointInfo {
    let mut locations = Vec::new();
    for Site { model, graph, plan } in sites {
        for &operator in breakpoint.operators(*model, graph).iter().take(most) {
            locations.push(BreakpointLocation {
                model: *model,
                operator: operator.index() as u32,
                name: graph.operator(operator).name.clone(),
                fate: plan.as_ref().map_or(Fate::Pending, |plan| plan.fate(operator)),
            });
        }
    }
    breakpoint.info(locations)
}

/// How many places are told of each breakpoint in each model, where so many are listed: an answer has an end.
pub(crate) fn most_locations(breakpoints: usize) -> usize {
    (16_000 / breakpoints.max(1)).clamp(16, 1000)
}
