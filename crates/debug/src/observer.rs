use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, EngineError, Interest, KernelId, RunObserver};
use opscope_tensor::{Statistics, Tensor, TensorView};

use crate::breakpoint::Breakpoint;
use crate::debugger::Shared;
use crate::first::find_non_finite;
use crate::run::{Pause, Run, Step};
use crate::stopped::Stopped;
use crate::table::Table;
use crate::thread::thread;
use crate::{
    BreakpointId, EventKind, EventName, Exception, Moment, OutputSummary, Resume, Sequence, StatisticsSummary, Target,
};

/// The debugger's part of a run.
pub(crate) struct Observer {
    shared: Arc<Shared>,
    run: Arc<Run>,
}

/// Why a run stops at a place.
enum Reason {
    Breakpoint(Vec<BreakpointId>),
    Step,
    Pause,
}

impl Observer {
    pub fn new(shared: Arc<Shared>, run: Arc<Run>) -> Self {
        Self { shared, run }
    }

    #[cold]
    fn stop_before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        let mut table = match self.promised(dispatch.kernel.id) {
            Ok(table) => table,
            Err(promised) => return promised,
        };
        let mut stopped = Stopped::before(&self.run.plan, dispatch, inputs);
        let mut resume = Resume::Continue;
        if table.ready && self.is_bound(dispatch, Moment::Before) {
            let place = stopped.place().clone();
            resume = self.stop(&mut table, EventKind::OperatorReady { place }, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped, Moment::Before)
        {
            resume = self.stop_for(&mut table, reason, &mut stopped);
        }
        match self.go_on(&table, resume) {
            Next::GoOn => stopped.into_replacements().map_or(Action::Continue, Action::ReplaceInputs),
            Next::Skip(outputs) => {
                let mut skipped = stopped.skipped(outputs);
                let here = skipped.iter().position(|(kernel, _)| *kernel == dispatch.kernel.id);
                let here = here.map(|at| Action::Skip(skipped.swap_remove(at).1));
                if !skipped.is_empty() {
                    self.run.change(|course| course.skip.extend(skipped));
                }
                // The steps up to the first that gives something are for the engine only.
                let or_execute = || stopped.into_replacements().map_or(Action::Continue, Action::ReplaceInputs);
                here.unwrap_or_else(or_execute)
            }
            Next::End(reason) => Action::Stop(reason),
        }
    }

    /// What the debugger wants of this run now; or else what was decided for this place when the run was stopped at an
    /// earlier one, whether or not that debugger is still there.
    fn promised(&self, kernel: KernelId) -> Result<Arc<Table>, Action> {
        let mut course = self.run.course();
        if let Some(reason) = course.abort.take() {
            return Err(Action::Stop(reason));
        }
        if let Some(at) = course.skip.iter().position(|(skipped, _)| *skipped == kernel) {
            return Err(Action::Skip(course.skip.swap_remove(at).1));
        }
        course.table.clone().ok_or(Action::Continue)
    }

    #[cold]
    fn stop_after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(mut table) = self.table() else { return Action::Continue };
        let mut stopped = Stopped::after(&self.run.plan, dispatch, outputs);
        if table.finished && self.is_bound(dispatch, Moment::After) {
            let outputs = if table.statistics { summaries(outputs) } else { Vec::new() };
            let kind = EventKind::OperatorFinished { place: stopped.place().clone(), outputs };
            self.shared.queues.raise(table.debugger, kind, thread());
        }
        let mut resume = Resume::Continue;
        if let Some(exception) = self.non_finite(&table, dispatch, outputs) {
            let kind = EventKind::Exception { run: self.run.id, place: Some(stopped.place().clone()), exception };
            resume = self.stop(&mut table, kind, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped, Moment::After)
        {
            resume = self.stop_for(&mut table, reason, &mut stopped);
        }
        match self.go_on(&table, resume) {
            Next::GoOn | Next::Skip(_) => stopped.into_replacements().map_or(Action::Continue, Action::Replace),
            Next::End(reason) => Action::Stop(reason),
        }
    }

    /// What the debugger wants of this run now.
    fn table(&self) -> Option<Arc<Table>> {
        self.run.course().table.clone()
    }

    /// Whether an operator begins or ends here: the engine may have made several kernels of it.
    fn is_bound(&self, dispatch: &Dispatch<'_>, moment: Moment) -> bool {
        self.run.plan.is_bound(dispatch.kernel.id, moment)
    }

    /// Whether the run stops at this place, and why: breakpoints come before steps.
    fn reason(&self, table: &Table, stopped: &Stopped<'_>, moment: Moment) -> Option<Reason> {
        let kernel = stopped.dispatch().kernel.id;
        let here = table.at(kernel, moment).iter().filter(|breakpoint| breakpoint.stops(self.run.id, stopped));
        let hit: Vec<_> = here.collect();
        if !hit.is_empty() {
            return Some(Reason::Breakpoint(self.count(&hit)));
        }
        let course = self.run.course();
        if course.pause.is_some() && moment == Moment::Before && self.is_bound(stopped.dispatch(), moment) {
            return Some(Reason::Pause);
        }
        let arrived = match (&course.step, moment) {
            (Some(Step::Next), Moment::Before) | (Some(Step::Finish), Moment::After) => {
                self.is_bound(stopped.dispatch(), moment)
            }
            (Some(Step::Until(kernels)), Moment::Before) => kernels[kernel.index()],
            _ => false,
        };
        arrived.then_some(Reason::Step)
    }

    /// The numbers of breakpoints that stop the run; those for one stop are gone with it.
    fn count(&self, hit: &[&Arc<Breakpoint>]) -> Vec<BreakpointId> {
        let numbers: Vec<_> = hit.iter().map(|breakpoint| breakpoint.id).collect();
        if hit.iter().any(|breakpoint| breakpoint.is_one_shot()) {
            self.shared.control().remove_spent(&numbers);
        }
        numbers
    }

    fn non_finite(&self, table: &Table, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Option<Exception> {
        let watching: Vec<_> = table.first.iter().filter(|breakpoint| breakpoint.watches(self.run.id)).collect();
        if watching.is_empty() {
            return None;
        }
        let found = find_non_finite(&self.run.plan, &mut self.run.met(), dispatch, outputs)?;
        let hit: Vec<_> = watching
            .into_iter()
            .filter(|breakpoint| matches!(breakpoint.target(), Target::First(watched) if found.is_news_for(*watched)))
            .filter(|breakpoint| breakpoint.hit())
            .collect();
        let breakpoints = self.count(&hit);
        (!breakpoints.is_empty()).then_some(Exception::NonFinite {
            breakpoints,
            inputs: found.inputs,
            outputs: found.outputs,
        })
    }

    fn stop_for(&self, table: &mut Arc<Table>, reason: Reason, stopped: &mut Stopped<'_>) -> Resume {
        let place = stopped.place().clone();
        let kind = match reason {
            Reason::Breakpoint(breakpoints) => EventKind::Breakpoint { place, breakpoints },
            Reason::Step => EventKind::StepComplete { place },
            Reason::Pause => EventKind::Paused { place },
        };
        self.stop(table, kind, stopped)
    }

    /// Raises an event and waits for the answer; until then, what the client wants to know is looked up here. What it
    /// wants may be another thing after that.
    fn stop(&self, table: &mut Arc<Table>, kind: EventKind, stopped: &mut Stopped<'_>) -> Resume {
        // Wherever a run stops, it has arrived; what is asked of it as soon as the event is read counts from there.
        self.run.change(|course| (course.step, course.pause) = (None, None));
        let debugger = table.debugger;
        let Some(event) = self.shared.queues.announce(debugger, kind, thread()) else { return Resume::Continue };
        self.shared.count_stopped(&self.run);
        stopped.set_event(event);
        let answer = self.shared.queues.wait(event, |job| {
            if catch_unwind(AssertUnwindSafe(|| job(&mut *stopped))).is_err() {
                let message = format!("what was to be done at event {event} failed");
                self.shared.queues.raise(debugger, EventKind::InternalError { message }, thread());
            }
        });
        let resume = self.shared.settle(answer);
        *table = self.table().filter(|now| now.debugger == debugger).unwrap_or_else(|| Table::nothing(debugger));
        resume
    }

    /// Waits at an event of the run that is at no operator.
    fn wait_at(&self, event: Option<Sequence>) -> Resume {
        if event.is_some() {
            self.shared.count_stopped(&self.run);
        }
        self.shared.wait_at(event)
    }

    /// How the run goes on. A step is one of the debugger that asked for it.
    fn go_on(&self, table: &Table, resume: Resume) -> Next {
        let step = match resume {
            Resume::Continue => return Next::GoOn,
            Resume::Skip(outputs) => return Next::Skip(outputs),
            Resume::Abort(reason) => return Next::End(reason),
            Resume::Step => Step::Next,
            Resume::Finish => Step::Finish,
            Resume::Until(target) => {
                let plan = &self.run.plan;
                let mut kernels = vec![false; plan.kernels.len()].into_boxed_slice();
                for operator in target.operators(&plan.graph) {
                    if let Some(kernel) = plan.kernel_for(operator.id, Moment::Before) {
                        kernels[kernel.id.index()] = true;
                    }
                }
                Step::Until(kernels)
            }
        };
        self.run.change(|course| {
            if course.table.as_ref().is_some_and(|now| now.debugger == table.debugger) {
                course.step = Some(step);
            }
        });
        Next::GoOn
    }
}

/// What a stopped run does next.
enum Next {
    GoOn,
    Skip(Vec<Tensor>),
    End(String),
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
        let control = self.shared.control();
        self.run.begin(thread());
        let debugger = self.table();
        let told = self.shared.announce(EventKind::RunPushed { run: self.run.id });
        drop(control);
        let resume = self.wait_at(told);
        if let Some(table) = debugger
            && let Next::End(reason) = self.go_on(&table, resume)
        {
            self.run.change(|course| course.abort = Some(reason));
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
            let exception = Exception::Engine { message: error.to_string() };
            let place = self.run.plan.place_of_failure(run, error);
            // With the lock held, as whoever comes meanwhile may not want it.
            let control = self.shared.control();
            let told = self.shared.announce(EventKind::Exception { run, place, exception });
            drop(control);
            self.wait_at(told);
        }
        self.end(outcome.err().map(ToString::to_string));
    }
}

impl Observer {
    /// Tells that the run is over.
    fn end(&self, error: Option<String>) {
        let mut control = self.shared.control();
        let has_begun = self.run.thread() != 0;
        let mut told = None;
        if self.run.end() && has_begun {
            let course = self.run.course();
            if course.pause == Some(Pause::Any) {
                control.pause_next_run();
            }
            // Whoever steps or pauses a run waits for its next stop: that it is over is told in any case.
            if course.step.is_some() || course.pause.is_some() || self.shared.wants(EventName::RunPopped) {
                let debugger = course.table.as_ref().and_then(|table| table.debugger);
                told =
                    self.shared.queues.announce(debugger, EventKind::RunPopped { run: self.run.id, error }, thread());
            }
        }
        drop(control);
        self.wait_at(told);
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if !self.run.is_over() {
            // An engine that failed badly has told nothing.
            self.end(Some("the engine left it".to_owned()));
        }
        let mut control = self.shared.control();
        control.end(&self.run);
        let told = self.shared.announce(EventKind::RunDestroyed { run: self.run.id });
        drop(control);
        self.shared.wait_at(told);
    }
}
