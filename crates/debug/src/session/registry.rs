use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use opscope_model::{DeviceTensors, Dispatch, Fidelity, Kernel, RunId};
use opscope_onnx::{Graph, Operator};

use super::announcer::Announcer;
use super::models::Models;
use super::options::{AttachOptions, LoadedModel, RunState};
use super::sites::{Site, describe, most_locations};
use crate::breakpoint::{Breakpoint, BreakpointInfo, Target};
use crate::error::DebugError;
use crate::event::{BreakpointId, EventKind, EventName, EventSet, ModelId, Sequence};
use crate::queues::{Generation, StoppedRun};
use crate::run::{ActiveRun, Pause, PlanInfo, StopTable};

/// The models and runs of the program, the client that is attached, and its breakpoints.
#[derive(Default)]
pub(crate) struct Registry {
    pub attached: Option<(Generation, AttachOptions)>,
    breakpoints: BTreeMap<BreakpointId, Arc<Breakpoint>>,
    last_breakpoint: u32,
    models: Models,
    runs: Vec<Arc<ActiveRun>>,
    /// The stop table of each plan. The list is cleared when the client changes its stops.
    tables: Vec<(Weak<PlanInfo>, Arc<StopTable>)>,
    /// How many of the next runs stop at their first operator, because a pause found no run, or one that was ending.
    pauses: usize,
}

/// The maximum number of breakpoints.
const BREAKPOINTS: usize = 1000;

impl Registry {
    /// Returns the number of a model. A new model is announced, and the caller has to wait at that event.
    pub fn model(
        &mut self,
        announcer: &Announcer,
        graph: &Arc<Graph>,
        fidelity: Fidelity,
    ) -> (ModelId, Option<Sequence>) {
        if let Some(known) = self.models.find(graph, fidelity) {
            return (known, None);
        }
        for model in self.models.unused() {
            self.remove_model(model);
            announcer.post(EventKind::ModelUnloaded { model });
        }
        let (id, loaded) = self.models.add(graph, fidelity);
        (id, announcer.announce(loaded))
    }

    /// Counts one more handle to a model.
    pub fn hold(&mut self, id: ModelId) {
        self.models.hold(id);
    }

    /// Sets whether the model's engine executes an operator even if it is skipped. It applies to later plans.
    pub fn set_executes_skipped(&mut self, id: ModelId, executes_skipped: bool) {
        self.models.set_executes_skipped(id, executes_skipped);
    }

    /// Counts one handle less to a model. Returns whether it was the last one, which unloads the model.
    pub fn unload(&mut self, id: ModelId) -> bool {
        let is_last = self.models.release(id);
        if is_last {
            self.remove_model(id);
        }
        is_last
    }

    fn remove_model(&mut self, id: ModelId) {
        self.models.remove(id);
        self.breakpoints.values().for_each(|breakpoint| breakpoint.forget(id));
    }

    /// Returns the information about a plan. A new model is announced, and the caller has to wait at that event.
    pub fn plan(
        &mut self,
        announcer: &Announcer,
        graph: &Arc<Graph>,
        fidelity: Fidelity,
        kernels: &Arc<[Kernel]>,
    ) -> (Arc<PlanInfo>, Option<Sequence>) {
        let (id, announced) = self.model(announcer, graph, fidelity);
        (self.models.plan(id, graph, kernels), announced)
    }

    /// Adds a run. The client's stops and subscriptions apply to it from its first operator on.
    pub fn begin(&mut self, run: &Arc<ActiveRun>) {
        self.runs.push(Arc::clone(run));
        if let Some(table) = self.table(&run.plan) {
            let pause = (self.pauses > 0).then_some(Pause::Any);
            self.pauses -= usize::from(pause.is_some());
            run.change(|control| (control.table, control.pause) = (Some(table), pause));
        }
    }

    /// Enters an operator of an open model. Returns whether it is new, or takes other values than before.
    pub fn found(&mut self, model: ModelId, dispatch: &Dispatch<'_>) -> bool {
        self.models.found(model, dispatch)
    }

    /// Makes plans of all operators of open models that were found so far.
    pub fn grow_models(&mut self) {
        for model in self.models.grown() {
            self.grow(model);
        }
    }

    /// Returns the newest plan of an open model. With a client, it has all operators that were found so far.
    pub fn open_plan(&mut self, model: ModelId) -> Option<Arc<PlanInfo>> {
        if self.attached.is_some() {
            self.grow_models();
        }
        self.models.newest_plan(model).or_else(|| self.grow(model))
    }

    /// Returns a run in progress with a plan of all operators that were found so far.
    pub fn grow_run(&mut self, run: &Arc<ActiveRun>) -> Arc<ActiveRun> {
        let Some(plan) = self.grow(run.plan.model) else { return Arc::clone(run) };
        let table = self.table(&plan);
        let grown = Arc::new(ActiveRun::grown(run, plan, table));
        self.runs.iter_mut().filter(|known| Arc::ptr_eq(known, run)).for_each(|known| *known = Arc::clone(&grown));
        grown
    }

    fn grow(&mut self, model: ModelId) -> Option<Arc<PlanInfo>> {
        // Patterns are matched again.
        self.breakpoints.values().for_each(|breakpoint| breakpoint.forget(model));
        self.models.grow(model)
    }

    /// Returns whether a breakpoint of the client may stop at an operator that was just found.
    pub fn may_stop_at(&self, operator: &Operator) -> bool {
        self.breakpoints.values().any(|breakpoint| {
            let is_first = matches!(breakpoint.target(), Target::First(_));
            breakpoint.is_enabled() && !is_first && breakpoint.target().may_match(operator)
        })
    }

    pub fn end(&mut self, run: &Arc<ActiveRun>) {
        self.runs.retain(|known| !Arc::ptr_eq(known, run));
    }

    /// Returns the events that report what happened before, for a client that attaches now.
    pub fn replay(&self, events: EventSet) -> Vec<EventKind> {
        let mut replay: Vec<EventKind> = self.models.announced().collect();
        for run in &self.runs {
            replay.push(EventKind::RunCreated { run: run.id, model: run.plan.model });
            if run.has_begun() && !run.is_over() {
                replay.push(EventKind::RunPushed { run: run.id, model: run.plan.model });
            }
        }
        replay.retain(|kind| events.contains(kind.name()));
        replay.push(EventKind::AttachComplete);
        replay
    }

    /// Applies the client's current stops and subscriptions to every run.
    pub fn update_runs(&mut self) {
        self.tables.clear();
        let runs = std::mem::take(&mut self.runs);
        for run in &runs {
            let table = self.table(&run.plan);
            run.change(|control| {
                if table.is_none() {
                    (control.step, control.pause) = (None, None);
                }
                control.table = table;
            });
        }
        self.runs = runs;
    }

    fn table(&mut self, plan: &Arc<PlanInfo>) -> Option<Arc<StopTable>> {
        let (debugger, options) = self.attached.as_ref()?;
        if let Some((_, table)) = self.tables.iter().find(|(known, _)| known.as_ptr() == Arc::as_ptr(plan)) {
            return Some(Arc::clone(table));
        }
        let table =
            Arc::new(StopTable::new(*debugger, plan, self.breakpoints.values(), options.events, options.statistics));
        self.tables.retain(|(known, _)| known.strong_count() > 0);
        self.tables.push((Arc::downgrade(plan), Arc::clone(&table)));
        Some(table)
    }

    /// Removes the breakpoints and pauses of a client that detaches.
    pub fn clear_client(&mut self) {
        self.breakpoints.clear();
        self.pauses = 0;
    }

    /// Adds a breakpoint and gives it a number.
    ///
    /// # Errors
    /// Returns an error if there is already the maximum number.
    pub fn add_breakpoint(&mut self, mut breakpoint: Breakpoint) -> Result<BreakpointInfo, DebugError> {
        if self.breakpoints.len() >= BREAKPOINTS {
            return Err(DebugError::TooManyBreakpoints(BREAKPOINTS));
        }
        self.last_breakpoint += 1;
        breakpoint.id = BreakpointId(self.last_breakpoint);
        Ok(self.set_breakpoint(breakpoint))
    }

    /// Replaces the breakpoint with the same number.
    pub fn set_breakpoint(&mut self, breakpoint: Breakpoint) -> BreakpointInfo {
        let breakpoint = Arc::new(breakpoint);
        self.breakpoints.insert(breakpoint.id, Arc::clone(&breakpoint));
        self.update_runs();
        describe(&breakpoint, &self.models.sites(), most_locations(1))
    }

    pub fn breakpoint(&self, id: BreakpointId) -> Result<Arc<Breakpoint>, DebugError> {
        self.breakpoints.get(&id).cloned().ok_or(DebugError::NoSuchBreakpoint(id))
    }

    pub fn remove_breakpoint(&mut self, id: BreakpointId) -> Result<(), DebugError> {
        self.breakpoints.remove(&id).ok_or(DebugError::NoSuchBreakpoint(id))?;
        self.update_runs();
        Ok(())
    }

    /// Removes the one-shot breakpoints among those that have stopped a run.
    pub fn remove_spent(&mut self, spent: &[BreakpointId]) {
        self.breakpoints.retain(|id, breakpoint| !(spent.contains(id) && breakpoint.is_one_shot()));
        self.update_runs();
    }

    /// Returns the breakpoints, and the models in which they can lie.
    pub fn breakpoints(&self) -> (Vec<Arc<Breakpoint>>, Vec<Site>) {
        (self.breakpoints.values().cloned().collect(), self.models.sites())
    }

    /// Returns whether the client wants something of runs: a stop, or events of runs and operators.
    pub fn is_interested(&self) -> bool {
        const OF_RUNS: [EventName; 6] = [
            EventName::RunCreated,
            EventName::RunDestroyed,
            EventName::RunPushed,
            EventName::RunPopped,
            EventName::OperatorReady,
            EventName::OperatorFinished,
        ];
        let is_awaited = |run: &Arc<ActiveRun>| {
            let control = run.control();
            control.step.is_some() || control.pause.is_some() || control.abort.is_some()
        };
        self.attached.as_ref().is_some_and(|(_, options)| {
            self.pauses > 0
                || self.breakpoints.values().any(|breakpoint| breakpoint.is_enabled())
                || OF_RUNS.into_iter().any(|name| options.events.contains(name))
                || self.runs.iter().any(is_awaited)
        })
    }

    /// Asks active runs, or one of them, to stop at their next operator, and returns how many were asked. If the
    /// request is for all runs and none is active, the next one stops, and one more run stops for each run that ends
    /// before its next operator.
    pub fn pause(&mut self, only: Option<RunId>, stopped: &[StoppedRun]) -> usize {
        let mut active =
            self.runs.iter().filter(|run| !run.is_over() && only.is_none_or(|only| run.id == only)).peekable();
        if only.is_none() {
            self.pauses = usize::from(active.peek().is_none());
        }
        let pause = if only.is_some() { Pause::This } else { Pause::Any };
        let is_stopped = |run: RunId| stopped.iter().any(|stopped| stopped.run == run && stopped.at_operator);
        let asked = active.filter(|run| !is_stopped(run.id));
        asked.map(|run| run.change(|control| control.pause = control.table.as_ref().map(|_| pause))).count()
    }

    /// Makes the next run stop instead of one that has ended.
    pub fn pause_next_run(&mut self) {
        self.pauses += 1;
    }

    pub fn loaded(&self) -> Vec<LoadedModel> {
        self.models.loaded()
    }

    pub fn runs(&self, stopped: &[StoppedRun]) -> Vec<RunState> {
        let event = |run: RunId| stopped.iter().find(|stopped| stopped.run == run).map(|stopped| stopped.event);
        let state = |run: &Arc<ActiveRun>| RunState {
            run: run.id,
            model: run.plan.model,
            thread: run.thread(),
            stopped: event(run.id),
        };
        // A run that has ended has no more events, unless it is waiting at the last one.
        let is_listed = |run: &&Arc<ActiveRun>| !run.is_over() || event(run.id).is_some();
        self.runs.iter().filter(is_listed).map(state).collect()
    }

    pub fn graph(&self, id: ModelId) -> Option<Arc<Graph>> {
        self.models.graph(id)
    }

    pub fn graphs(&self) -> Vec<(ModelId, Arc<Graph>)> {
        self.models.graphs()
    }

    /// Keeps the outputs of a run, and returns those that were kept before.
    pub fn keep_outputs(&mut self, id: ModelId, outputs: Arc<dyn DeviceTensors>) -> Option<Arc<dyn DeviceTensors>> {
        self.models.keep_outputs(id, outputs)
    }

    /// Returns the outputs of the run that ended last, if they were kept.
    pub fn kept_outputs(&self, id: ModelId) -> Option<Arc<dyn DeviceTensors>> {
        self.models.kept_outputs(id)
    }

    /// Returns a model's newest plan; `None` before its first one.
    pub fn newest_plan(&self, id: ModelId) -> Option<Arc<PlanInfo>> {
        self.models.newest_plan(id)
    }
}
