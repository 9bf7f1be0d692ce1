use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, EngineError, Interest, KernelId, RunObserver};
use opscope_tensor::{Statistics, Tensor, TensorView};

use super::recursion::thread;
use super::shared::Shared;
use crate::breakpoint::{Breakpoint, Target};
use crate::event::{BreakpointId, EventKind, EventName, Exception, Moment, OutputSummary, Sequence, StatisticsSummary};
use crate::queues::Resume;
use crate::run::{ActiveRun, Destination, Job, Modules, Pause, Step, StopTable, Stopped, find_non_finite};

/// The debugger's observer of a run: raises its events, and stops it where the client wants.
pub(super) struct Observer {
    shared: Arc<Shared>,
    run: Arc<ActiveRun>,
}

/// Why a run stops at an operator.
enum Reason {
    Breakpoint(Vec<BreakpointId>),
    Step,
    Pause,
}

/// What a stopped run does next.
enum Next {
    Continue,
    Skip(Vec<Tensor>),
    Abort(String),
}

impl Observer {
    pub fn new(shared: Arc<Shared>, run: Arc<ActiveRun>) -> Self {
        Self { shared, run }
    }

    pub fn run(&self) -> &Arc<ActiveRun> {
        &self.run
    }

    /// Goes on with the same run, whose plan has grown.
    pub fn set_run(&mut self, grown: Arc<ActiveRun>) {
        self.run = grown;
    }

    #[cold]
    fn stop_before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let mut table = match self.decided_earlier(dispatch.kernel.id) {
            Ok(table) => table,
            Err(action) => return action,
        };
        let mut stopped = Stopped::before(&self.run.plan, dispatch, inputs);
        let mut resume = Resume::Continue;
        if table.ready && self.is_bound(dispatch, Moment::Before) {
            let place = stopped.position().clone();
            resume = self.stop(&mut table, EventKind::OperatorReady { place }, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped, Moment::Before)
        {
            resume = self.stop_for(&mut table, reason, &mut stopped);
        }
        match self.next(&table, resume, Some((dispatch, Moment::Before))) {
            Next::Continue => stopped.into_replacements().map_or(Action::Continue, Action::ReplaceInputs),
            Next::Skip(outputs) => {
                let mut skipped = stopped.skipped(outputs);
                let here = skipped.iter().position(|(kernel, _)| *kernel == dispatch.kernel.id);
                let here = here.map(|at| Action::Skip(skipped.swap_remove(at).1));
                if !skipped.is_empty() {
                    self.run.change(|control| control.skip.extend(skipped));
                }
                // Kernels before the first one that computes an output are executed, because only the engine uses their
                // results.
                let or_execute = || stopped.into_replacements().map_or(Action::Continue, Action::ReplaceInputs);
                here.unwrap_or_else(or_execute)
            }
            Next::Abort(reason) => Action::Stop(reason),
        }
    }

    /// Returns the stop table, or the action that was decided for this kernel at an earlier stop. The client that
    /// decided it may no longer be attached.
    fn decided_earlier(&self, kernel: KernelId) -> Result<Arc<StopTable>, Action> {
        let mut control = self.run.control();
        if let Some(reason) = control.abort.take() {
            return Err(Action::Stop(reason));
        }
        if let Some(at) = control.skip.iter().position(|(skipped, _)| *skipped == kernel) {
            return Err(Action::Skip(control.skip.swap_remove(at).1));
        }
        control.table.clone().ok_or(Action::Continue)
    }

    #[cold]
    fn stop_after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(mut table) = self.table() else { return Action::Continue };
        let mut stopped = Stopped::after(&self.run.plan, dispatch, outputs);
        if table.finished && self.is_bound(dispatch, Moment::After) {
            let outputs = if table.statistics { summaries(outputs) } else { Vec::new() };
            let kind = EventKind::OperatorFinished { place: stopped.position().clone(), outputs };
            self.shared.queues().raise(table.debugger, kind, thread());
        }
        let mut resume = Resume::Continue;
        if let Some(exception) = self.non_finite(&table, dispatch, outputs) {
            let kind = EventKind::Exception { run: self.run.id, place: Some(stopped.position().clone()), exception };
            resume = self.stop(&mut table, kind, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped, Moment::After)
        {
            resume = self.stop_for(&mut table, reason, &mut stopped);
        }
        match self.next(&table, resume, Some((dispatch, Moment::After))) {
            Next::Continue | Next::Skip(_) => stopped.into_replacements().map_or(Action::Continue, Action::Replace),
            Next::Abort(reason) => Action::Stop(reason),
        }
    }

    /// Returns where the client wants this run to stop; `None` while no client is attached.
    fn table(&self) -> Option<Arc<StopTable>> {
        self.run.control().table.clone()
    }

    /// Returns whether an operator begins or ends here. This matters if the engine executes several kernels for it.
    fn is_bound(&self, dispatch: &Dispatch<'_>, moment: Moment) -> bool {
        self.run.plan.is_bound(dispatch.kernel.id, moment)
    }

    /// Returns why the run stops here, if it does. Breakpoints take precedence over pauses, and pauses over steps.
    fn reason(&self, table: &StopTable, stopped: &Stopped<'_>, moment: Moment) -> Option<Reason> {
        let kernel = stopped.dispatch().kernel.id;
        let here = table.at(kernel, moment).iter().filter(|breakpoint| breakpoint.stops(self.run.id, stopped));
        let hit: Vec<_> = here.collect();
        if !hit.is_empty() {
            return Some(Reason::Breakpoint(self.count(&hit)));
        }
        let control = self.run.control();
        if control.pause.is_some() && moment == Moment::Before && self.is_bound(stopped.dispatch(), moment) {
            return Some(Reason::Pause);
        }
        let arrived = match (&control.step, moment) {
            (Some(Step::Next), Moment::Before) => self.is_bound(stopped.dispatch(), moment),
            (Some(Step::Finish(operator)), Moment::After) => {
                let here = stopped.dispatch().operator().id;
                operator.is_none_or(|operator| operator == here) && self.is_bound(stopped.dispatch(), moment)
            }
            (Some(Step::Until(kernels, _)), Moment::Before) => kernels[kernel.index()],
            _ => false,
        };
        arrived.then_some(Reason::Step)
    }

    /// Returns the numbers of the breakpoints that stop the run, and removes the one-shot breakpoints among them.
    fn count(&self, hit: &[&Arc<Breakpoint>]) -> Vec<BreakpointId> {
        let numbers: Vec<_> = hit.iter().map(|breakpoint| breakpoint.id).collect();
        if hit.iter().any(|breakpoint| breakpoint.is_one_shot()) {
            self.shared.registry().remove_spent(&numbers);
        }
        numbers
    }

    fn non_finite(&self, table: &StopTable, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Option<Exception> {
        let watching: Vec<_> = table.first.iter().filter(|breakpoint| breakpoint.watches(self.run.id)).collect();
        if watching.is_empty() {
            return None;
        }
        let found = find_non_finite(&self.run.plan, &mut self.run.seen(), dispatch, outputs)?;
        let hit: Vec<_> = watching
            .into_iter()
            .filter(|breakpoint| matches!(breakpoint.target(), Target::First(watched) if found.is_first(*watched)))
            .filter(|breakpoint| breakpoint.hit())
            .collect();
        let breakpoints = self.count(&hit);
        (!breakpoints.is_empty()).then_some(Exception::NonFinite {
            breakpoints,
            inputs: found.inputs,
            outputs: found.outputs,
        })
    }

    fn stop_for(&self, table: &mut Arc<StopTable>, reason: Reason, stopped: &mut Stopped<'_>) -> Resume {
        let place = stopped.position().clone();
        let kind = match reason {
            Reason::Breakpoint(breakpoints) => EventKind::Breakpoint { place, breakpoints },
            Reason::Step => EventKind::StepComplete { place },
            Reason::Pause => EventKind::Paused { place },
        };
        self.stop(table, kind, stopped)
    }

    /// Raises an event and waits for the answer. Meanwhile this thread carries out the client's jobs. Then updates the
    /// table, which the client may have changed.
    fn stop(&self, table: &mut Arc<StopTable>, kind: EventKind, stopped: &mut Stopped<'_>) -> Resume {
        // A stop ends every step and pause. Only requests that the client makes after it has read the event count.
        self.run.change(|control| (control.step, control.pause) = (None, None));
        let debugger = table.debugger;
        let Some(event) = self.shared.queues().announce(debugger, kind, thread()) else { return Resume::Continue };
        self.shared.count_stopped(&self.run);
        stopped.set_event(event);
        let work = |job: Job| {
            if catch_unwind(AssertUnwindSafe(|| job(&mut *stopped))).is_err() {
                let message = format!("a request at event {event} panicked");
                self.shared.queues().raise(debugger, EventKind::InternalError { message }, thread());
            }
        };
        let answer = self.shared.waiting(|| self.shared.queues().wait(event, work));
        let resume = self.shared.settle(answer);
        *table = self.table().filter(|now| now.debugger == debugger).unwrap_or_else(|| StopTable::nothing(debugger));
        resume
    }

    /// Waits at an event of the run that is not at an operator.
    fn wait_at(&self, event: Option<Sequence>) -> Resume {
        if event.is_some() {
            self.shared.count_stopped(&self.run);
        }
        self.shared.wait_at(event)
    }

    /// Returns what the run does next. `here` is where it is stopped, if it is at an operator. A step is stored only
    /// while the client that requested it is attached.
    fn next(&self, table: &StopTable, resume: Resume, here: Option<(&Dispatch<'_>, Moment)>) -> Next {
        let until = |destination| Step::Until(self.run.plan.until(&destination), destination);
        let modules = |depth: usize| here.map(|(dispatch, _)| Modules::of(dispatch.operator(), depth));
        let step = match resume {
            Resume::Continue => return Next::Continue,
            Resume::Skip(outputs) => return Next::Skip(outputs),
            Resume::Abort(reason) => return Next::Abort(reason),
            Resume::Step => Step::Next,
            Resume::Finish => Step::Finish(match here {
                Some((dispatch, Moment::Before)) => Some(dispatch.operator().id),
                _ => None,
            }),
            Resume::Until(target) => until(Destination::Target(target)),
            Resume::Over => modules(usize::MAX).map_or(Step::Next, |here| until(Destination::NotDeeper(here))),
            Resume::Leave(depth) => {
                modules(depth as usize).map_or(Step::Next, |left| until(Destination::Outside(left)))
            }
        };
        self.run.change(|control| {
            if control.table.as_ref().is_some_and(|now| now.debugger == table.debugger) {
                control.step = Some(step);
            }
        });
        Next::Continue
    }

    /// Raises the event for the end of the run.
    fn end(&self, error: Option<String>) {
        let mut registry = self.shared.registry();
        let (mut announced, mut stops_next) = (None, false);
        if self.run.end() && self.run.has_begun() {
            let control = self.run.control();
            stops_next = control.pause == Some(Pause::Any);
            if stops_next {
                registry.pause_next_run();
            }
            // A client that steps or pauses a run waits for its next stop, so it always gets this event.
            let is_awaited = control.step.is_some() || control.pause.is_some();
            if is_awaited || self.shared.announcer.wants(EventName::RunPopped) {
                let debugger = control.table.as_ref().and_then(|table| table.debugger);
                let kind = EventKind::RunPopped { run: self.run.id, model: self.run.plan.model, error };
                announced = self.shared.queues().announce(debugger, kind, thread());
            }
        }
        drop(registry);
        if stops_next {
            self.shared.note_interest();
        }
        self.wait_at(announced);
    }
}

fn summaries(outputs: &[TensorView<'_>]) -> Vec<OutputSummary> {
    let summary = |view: &TensorView<'_>| {
        let statistics = Statistics::of(view).ok()?;
        Some(StatisticsSummary::new(view.dtype(), view.shape(), &statistics))
    };
    let each = outputs.iter().enumerate();
    each.map(|(slot, view)| OutputSummary { slot: slot as u32, statistics: summary(view) }).collect()
}

impl RunObserver for Observer {
    fn interest(&self) -> Interest {
        let registry = self.shared.registry();
        self.run.begin(thread());
        let table = self.table();
        let (run, model) = (self.run.id, self.run.plan.model);
        let announced = self.shared.announcer.announce(EventKind::RunPushed { run, model });
        drop(registry);
        let resume = self.wait_at(announced);
        if let Some(table) = table
            && let Next::Abort(reason) = self.next(&table, resume, None)
        {
            self.run.change(|control| control.abort = Some(reason));
        }
        self.run.interest()
    }

    #[inline]
    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        if self.run.is_wanted(dispatch.kernel.id, Moment::Before) {
            return self.stop_before(dispatch, inputs);
        }
        Action::Continue
    }

    #[inline]
    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        if self.run.is_wanted(dispatch.kernel.id, Moment::After) {
            return self.stop_after(dispatch, outputs);
        }
        Action::Continue
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let run = self.run.id;
        let failed = outcome.err().filter(|error| !matches!(error, EngineError::Stopped(_)));
        if let Some(error) = failed {
            let panicked = matches!(error, EngineError::Panic { .. });
            let exception = Exception::Engine { message: error.to_string(), panicked };
            let place = self.run.plan.position_of_failure(run, error);
            // This is done under the lock, because a client that attaches meanwhile may not have subscribed to this
            // event.
            let registry = self.shared.registry();
            let announced = self.shared.announcer.announce(EventKind::Exception { run, place, exception });
            drop(registry);
            self.wait_at(announced);
        }
        self.end(outcome.err().map(ToString::to_string));
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if !self.run.is_over() {
            // An engine that panicked has not called `finished`.
            self.end(Some("the engine left it".to_owned()));
        }
        let mut registry = self.shared.registry();
        registry.end(&self.run);
        let announced = self.shared.announcer.announce(EventKind::RunDestroyed { run: self.run.id });
        drop(registry);
        self.shared.wait_at(announced);
    }
}
