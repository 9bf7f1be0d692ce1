use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, EngineError, Interest, RunObserver};
use opscope_tensor::{Statistics, Tensor, TensorView};

use crate::breakpoint::Breakpoint;
use crate::debugger::{Shared, thread};
use crate::first::find_non_finite;
use crate::run::{Run, Step};
use crate::stopped::Stopped;
use crate::table::Table;
use crate::{
    BreakpointId, EventKind, EventName, Exception, Moment, OutputSummary, Place, Resume, Sequence, StatisticsSummary,
    Target,
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
        let Some(table) = self.run.course().table.clone() else { return Action::Continue };
        let place = self.run.plan.place(self.run.id, dispatch, Moment::Before);
        let mut stopped = Stopped::before(&self.run.plan, dispatch, place.clone(), inputs);
        let mut resume = Resume::Continue;
        if table.ready {
            resume = self.stop(EventKind::OperatorReady { place: place.clone() }, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped)
        {
            resume = self.stop_for(reason, place, &mut stopped);
        }
        match self.go_on(resume) {
            Next::GoOn => stopped.into_replacements().map_or(Action::Continue, Action::ReplaceInputs),
            Next::Skip(outputs) => Action::Skip(outputs),
            Next::End(reason) => Action::Stop(reason),
        }
    }

    #[cold]
    fn stop_after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let Some(table) = self.run.course().table.clone() else { return Action::Continue };
        let place = self.run.plan.place(self.run.id, dispatch, Moment::After);
        if table.finished {
            let outputs = if table.statistics { summaries(outputs) } else { Vec::new() };
            self.shared.queues.raise(EventKind::OperatorFinished { place: place.clone(), outputs }, thread());
        }
        let mut stopped = Stopped::after(&self.run.plan, dispatch, place.clone(), outputs);
        let mut resume = Resume::Continue;
        if let Some(exception) = self.non_finite(&table, dispatch, outputs) {
            let kind = EventKind::Exception { run: self.run.id, place: Some(place.clone()), exception };
            resume = self.stop(kind, &mut stopped);
        }
        if matches!(resume, Resume::Continue)
            && let Some(reason) = self.reason(&table, &stopped)
        {
            resume = self.stop_for(reason, place, &mut stopped);
        }
        match self.go_on(resume) {
            Next::GoOn | Next::Skip(_) => stopped.into_replacements().map_or(Action::Continue, Action::Replace),
            Next::End(reason) => Action::Stop(reason),
        }
    }

    /// Whether the run stops at this place, and why: breakpoints come before steps.
    fn reason(&self, table: &Table, stopped: &Stopped<'_>) -> Option<Reason> {
        let (kernel, moment) = (stopped.dispatch().kernel.id, stopped.place().moment);
        let here = table.at(kernel, moment).iter().filter(|breakpoint| breakpoint.stops(self.run.id, stopped));
        let hit: Vec<_> = here.collect();
        if !hit.is_empty() {
            return Some(Reason::Breakpoint(self.count(&hit)));
        }
        let course = self.run.course();
        if course.pause && moment == Moment::Before {
            return Some(Reason::Pause);
        }
        let arrived = match (&course.step, moment) {
            (Some(Step::Next), Moment::Before) | (Some(Step::Finish), Moment::After) => {
                self.run.plan.is_bound(kernel, moment)
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
        let found = find_non_finite(dispatch, outputs)?;
        let hit: Vec<_> = watching
            .into_iter()
            .filter(|breakpoint| matches!(breakpoint.target(), Target::First(watched) if found.is_news_for(*watched)))
            .filter(|breakpoint| breakpoint.hit())
            .collect();
        let breakpoints = self.count(&hit);
        (!breakpoints.is_empty()).then_some(Exception::NonFinite { breakpoints, outputs: found.outputs })
    }

    fn stop_for(&self, reason: Reason, place: Place, stopped: &mut Stopped<'_>) -> Resume {
        let kind = match reason {
            Reason::Breakpoint(breakpoints) => EventKind::Breakpoint { place, breakpoints },
            Reason::Step => EventKind::StepComplete { place },
            Reason::Pause => EventKind::Paused { place },
        };
        self.stop(kind, stopped)
    }

    /// Raises an event and waits for the answer; until then, what the client wants to know is looked up here.
    fn stop(&self, kind: EventKind, stopped: &mut Stopped<'_>) -> Resume {
        let Some(event) = self.shared.queues.announce(kind, thread()) else { return Resume::Continue };
        self.run.stop_at(Some(event));
        self.shared.count_stopped(&self.run);
        // Wherever a run stops, it has arrived.
        self.run.change(|course| (course.step, course.pause) = (None, false));
        stopped.set_event(event);
        let answer = self.shared.queues.wait(event, |job| {
            if catch_unwind(AssertUnwindSafe(|| job(Some(&mut *stopped)))).is_err() {
                let message = format!("what was to be done at event {event} failed");
                self.shared.queues.raise(EventKind::InternalError { message }, thread());
            }
        });
        self.run.stop_at(None);
        self.shared.settle(answer)
    }

    /// Waits at an event of the run that is at no operator.
    fn wait_at(&self, event: Option<Sequence>) {
        if event.is_some() {
            self.shared.count_stopped(&self.run);
        }
        self.shared.wait_at(event);
    }

    fn go_on(&self, resume: Resume) -> Next {
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
        self.run.change(|course| course.step = course.table.is_some().then_some(step));
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
        let told = self.shared.announce(EventKind::RunPushed { run: self.run.id });
        drop(control);
        self.wait_at(told);
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
            self.wait_at(self.shared.announce(EventKind::Exception { run, place, exception }));
        }
        let control = self.shared.control();
        self.run.end();
        // Whoever steps a run waits for its next stop: that it is over is told in any case.
        let is_stepped = self.run.course().step.is_some();
        let told = if is_stepped || self.shared.wants(EventName::RunPopped) {
            let error = outcome.err().map(ToString::to_string);
            self.shared.queues.announce(EventKind::RunPopped { run, error }, thread())
        } else {
            None
        };
        drop(control);
        self.wait_at(told);
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let mut control = self.shared.control();
        control.end(&self.run);
        let told = self.shared.announce(EventKind::RunDestroyed { run: self.run.id });
        drop(control);
        self.shared.wait_at(told);
    }
}
