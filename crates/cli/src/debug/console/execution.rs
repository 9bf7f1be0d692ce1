//! Commands that start runs, let them continue, and wait until one stops.

use anyhow::{Context, Result, bail};
use opscope::debug::{
    BreakpointChange, DebugError, ErrorCode, Event, EventKind, EventName, EventSet, OperatorMapping, Resume, Sequence,
    StopCause, Target,
};
use opscope::model::RunId;
use serde_json::json;

use super::Console;
use crate::debug::debuggee::Debuggee;
use crate::debug::events::ConsoleEvent;
use crate::debug::show;

impl Console {
    pub(super) fn run(&mut self, runs: u64, threads: usize) -> Result<()> {
        let Some(debuggee) = &self.debuggee else {
            bail!("an attached program starts its runs itself; `wait` waits until one stops");
        };
        debuggee.start(runs, threads, &self.inbox).context("no thread could be started for the run")?;
        self.wait(None).map(drop)
    }

    /// Steps, in this way.
    pub(super) fn step(&mut self, steps: u64, resume: &Resume) -> Result<()> {
        for _ in 0..steps {
            let stop = self.stop_in_run()?;
            let run = stop.kind.run();
            let next = self.resume_and_wait(&stop, resume.clone(), run)?;
            let stepped =
                next.is_some_and(|next| next.kind.name() == EventName::StepComplete && next.kind.run() == run);
            if !stepped {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        let stop = self.stop_in_run()?;
        let resume = self.out_of(&stop);
        self.resume_and_wait(&stop, resume, stop.kind.run()).map(drop)
    }

    /// Returns how a run continues to the end of the operator, or of the chosen module.
    pub(super) fn out_of(&self, stop: &Event) -> Resume {
        self.chosen_module(stop).map_or(Resume::Finish, |depth| Resume::Leave(depth as u32))
    }

    pub(super) fn until(&mut self, target: Target) -> Result<()> {
        let stop = self.stop_in_run()?;
        let model = self.client.location(stop.sequence)?.model;
        let rows = self.client.operators(model, &target.to_string(), 0, usize::MAX)?.operators;
        if !rows.is_empty() && rows.iter().all(|row| row.mapping == OperatorMapping::Removed) {
            bail!(
                "nothing is executed for '{target}', so the run never reaches it; `info operators {target}` says more"
            );
        }
        self.resume_and_wait(&stop, Resume::Until(target), stop.kind.run()).map(drop)
    }

    pub(super) fn continue_run(&mut self, pass: u64) -> Result<()> {
        let Ok(stop) = self.stop() else {
            return if self.has_running() { self.wait(None).map(drop) } else { self.stop().map(drop) };
        };
        if pass > 0 {
            let breakpoints = stop.kind.breakpoints();
            if breakpoints.is_empty() {
                bail!("the run is not stopped at a breakpoint whose hits could pass; use `continue` without a number");
            }
            for &breakpoint in breakpoints {
                let change = BreakpointChange { ignore: Some(pass), ..BreakpointChange::default() };
                match self.client.change_breakpoint(breakpoint, change) {
                    // A one-shot breakpoint was deleted when it stopped the run.
                    Err(error) if error.code() != ErrorCode::NoSuchBreakpoint => return Err(error.into()),
                    _ => {}
                }
            }
        }
        self.resume_and_wait(&stop, Resume::Continue, None).map(drop)
    }

    pub(super) fn continue_all(&mut self) -> Result<()> {
        self.stop()?;
        for stop in self.caught_up()? {
            self.resume_if_stopped(&stop, Resume::Continue)?;
        }
        self.wait(None).map(drop)
    }

    /// Returns all stopped runs, including those whose events were not in the inbox yet.
    fn caught_up(&self) -> Result<Vec<Event>> {
        if let Some(newest) = self.client.status()?.stopped.iter().map(|stop| stop.event).max() {
            self.inbox.catch_up(newest);
        }
        Ok(self.inbox.stops())
    }

    /// Lets a run continue, unless it has continued already.
    fn resume_if_stopped(&mut self, stop: &Event, resume: Resume) -> Result<()> {
        match self.resume_run(stop.sequence, resume) {
            Err(error)
                if error
                    .downcast_ref()
                    .is_none_or(|error: &DebugError| error.code() != ErrorCode::AlreadyContinued) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn abort(&mut self, reason: String) -> Result<()> {
        let stop = self.stop_in_run()?;
        self.aborted.extend(stop.kind.run().map(|run| run.0));
        let left = self.debuggee.as_ref().map_or(0, Debuggee::left);
        if left > 0 {
            let left = show::count(left, "more run");
            self.output.note(format!("`run` has {left} to start; `abort --all` cancels them, too."));
        }
        self.resume_and_wait(&stop, Resume::Abort(reason_or(reason)), stop.kind.run()).map(drop)
    }

    /// Aborts all stopped runs, and cancels the pending ones.
    pub(super) fn abort_all(&mut self, reason: String) -> Result<()> {
        match &self.debuggee {
            Some(debuggee) => debuggee.cancel(),
            None => drop(self.stop()?),
        }
        let reason = reason_or(reason);
        loop {
            for stop in self.caught_up()? {
                let mut resume = Resume::Continue;
                if !has_failed(&stop) {
                    self.aborted.extend(stop.kind.run().map(|run| run.0));
                    resume = Resume::Abort(reason.clone());
                }
                self.resume_if_stopped(&stop, resume)?;
            }
            // A run of this process may have been about to stop.
            let next = self.wait(None)?;
            if next.is_none() || self.debuggee.is_none() {
                return Ok(());
            }
        }
    }

    pub(super) fn pause(&mut self) -> Result<()> {
        let is_stopped = !self.inbox.stops().is_empty();
        if self.has_running() && (self.client.pause(None)? > 0 || !is_stopped) {
            return self.wait(None).map(drop);
        }
        match is_stopped {
            true => bail!("all runs are stopped already; `continue` resumes them"),
            false => bail!("no run is active; `run` starts one"),
        }
    }

    /// Waits for the next stop. A stop that was reported while no command waited counts: a run may stop as soon as its
    /// breakpoint is set.
    pub(super) fn await_stop(&mut self) -> Result<()> {
        if let Some(stop) = self.unawaited.take().and_then(|stop| self.inbox.stop(stop)) {
            self.report_stop(&stop);
            return Ok(());
        }
        if !self.has_running() && !self.inbox.has_stop() {
            bail!("no run is active; `run` starts one");
        }
        self.wait(None).map(drop)
    }

    pub(super) fn detach(&mut self) -> Result<()> {
        self.release()?;
        let waited = if self.debuggee.is_some() { self.wait(None).map(drop) } else { Ok(()) };
        self.over = true;
        waited
    }

    /// Detaches after all stopped runs were acknowledged, so none is left to release without an acknowledgement.
    pub(super) fn release(&self) -> Result<()> {
        for breakpoint in self.client.breakpoints()? {
            self.client.remove_breakpoint(breakpoint.id)?;
        }
        for stop in self.inbox.stops() {
            // An error means that its lease has expired.
            let _ = self.client.acknowledge(stop.sequence, Resume::Continue);
            self.inbox.forget(stop.sequence);
        }
        Ok(self.client.detach()?)
    }

    /// Lets a stopped run continue, and waits until a run stops. The end of the run `only` ends the wait, too.
    pub(super) fn resume_and_wait(
        &mut self,
        stop: &Event,
        resume: Resume,
        only: Option<RunId>,
    ) -> Result<Option<Event>> {
        self.inbox.await_end(only);
        let outcome = self.resume_run(stop.sequence, resume).and_then(|()| self.wait(only));
        self.inbox.await_end(None);
        outcome
    }

    pub(super) fn resume_run(&mut self, event: Sequence, resume: Resume) -> Result<()> {
        let acknowledged = self.client.acknowledge(event, resume);
        let has_continued = matches!(&acknowledged, Err(error) if error.code() == ErrorCode::AlreadyContinued);
        if acknowledged.is_ok() || has_continued {
            self.inbox.forget(event);
            if self.current == Some(event) {
                self.current = None;
            }
        }
        Ok(acknowledged?)
    }

    /// Waits until a run stops and returns its event; `None` if no run is left that could stop.
    pub(super) fn wait(&mut self, only: Option<RunId>) -> Result<Option<Event>> {
        self.inbox.forget_interrupts();
        self.inbox.drain(true);
        let outcome = self.take_until_stop(only);
        self.inbox.drain(false);
        self.report_condition_errors();
        outcome
    }

    fn take_until_stop(&mut self, only: Option<RunId>) -> Result<Option<Event>> {
        // The run that commands applied to, as long as it exists.
        let mut meant = only;
        loop {
            // In this order: the end of the last run is in the inbox before the run is counted as over.
            let nothing_runs = !self.has_running();
            let event = match self.inbox.take() {
                Some(event) => event,
                None if nothing_runs => {
                    self.select_next_stop();
                    return Ok(None);
                }
                None => self.inbox.wait(),
            };
            match event {
                ConsoleEvent::Interrupted => {
                    self.output.interrupted();
                    match self.client.pause(None) {
                        // A detached program's runs cannot stop.
                        Err(error) if error.code() == ErrorCode::NotAttached => return Ok(None),
                        Ok(0) if !self.inbox.stops().is_empty() => {
                            self.output.note("All runs are stopped already; `continue` resumes them.");
                            return Ok(None);
                        }
                        // It may wait for another rank, which only another command lets continue.
                        Ok(_) if self.output.rank.is_some() => {
                            self.output.note("It stops at its next operator; `wait` waits for that.");
                            return Ok(None);
                        }
                        Ok(0) if self.debuggee.is_none() => {
                            self.output.note("No run is active; the next one stops. Ctrl-C twice exits.");
                        }
                        paused => drop(paused?),
                    }
                }
                ConsoleEvent::Reported(event) => {
                    let ended = self.debuggee.is_none()
                        && matches!(&event.kind, EventKind::RunPopped { run, .. } if only == Some(*run));
                    self.report_event(&event, ended);
                    if ended {
                        return Ok(None);
                    }
                }
                ConsoleEvent::Stopped(event) => {
                    self.current = Some(event.sequence);
                    self.listing = None;
                    self.report_stop(&event);
                    if let (Some(meant), Some(stopped)) = (meant, event.kind.run())
                        && meant != stopped
                    {
                        let (meant, stopped) = (meant.0, stopped.0);
                        self.output
                            .note(format!("Commands apply to run {stopped} now; `thread {meant}` switches back."));
                    }
                    return Ok(Some(event));
                }
                other => {
                    meant = meant.filter(|run| !matches!(&other, ConsoleEvent::RunEnded(end) if end.run == *run));
                    self.report(other);
                }
            }
            if self.over {
                return Ok(None);
            }
        }
    }

    /// Reports the events from before the debugger attached.
    pub fn greet(&mut self) {
        while !self.over {
            match self.inbox.wait() {
                ConsoleEvent::Reported(event) if event.kind.name() == EventName::AttachComplete => break,
                ConsoleEvent::Reported(_) if self.output.quiet && !self.output.json => {}
                event => self.report(event),
            }
        }
    }

    /// Reports the console events that wait.
    pub fn report_waiting(&mut self) {
        while let Some(event) = self.inbox.take() {
            self.report(event);
        }
    }

    pub(super) fn report(&mut self, event: ConsoleEvent) {
        match event {
            ConsoleEvent::Reported(event) => self.report_event(&event, false),
            ConsoleEvent::Stopped(event) => {
                self.report_stop(&event);
                self.unawaited = Some(event.sequence);
            }
            ConsoleEvent::RunEnded(end) => {
                let aborted = self.aborted.remove(&end.run.0);
                self.run_failed |= end.outcome.is_err() && !aborted;
                let state = match (&end.outcome, aborted) {
                    (Ok(_), _) => "done",
                    (Err(_), true) => "aborted",
                    (Err(_), false) => "failed",
                };
                let (outputs, error) = (end.outcome.as_ref().ok(), end.outcome.as_ref().err());
                let fields = json!({ "run": end.run.0, "outcome": state, "outputs": outputs, "error": error });
                self.output.result("run_ended", fields, show::ended(&end, aborted));
            }
            ConsoleEvent::Dropped(dropped) => {
                self.run_failed |= dropped.failed > 0;
                self.output.result("untold", json!(dropped), show::dropped(&dropped));
            }
            ConsoleEvent::ThreadDone | ConsoleEvent::Interrupted => {}
            ConsoleEvent::Gone(reason) => {
                self.output.gone(&reason);
                (self.over, self.gone) = (true, true);
            }
        }
    }

    pub(super) fn report_stop(&self, event: &Event) {
        let location = self.client.location(event.sequence).ok();
        let text = show::stopped(event, location.as_ref());
        self.output.result("stopped", json!({ "event": event, "location": location }), text);
    }

    pub(super) fn report_event(&self, event: &Event, in_any_case: bool) {
        let name = event.kind.name();
        let wanted = self.shown.contains(name) && !EventSet::ALWAYS.contains(name);
        // The end of a run of this process is reported by `RunEnded`.
        let is_reported_later = self.debuggee.is_some()
            && (name == EventName::Exception || name == EventName::RunPopped && !self.output.json);
        if (wanted && !is_reported_later) || in_any_case {
            self.output.result("event", json!({ "event": event }), show::happened(event));
        }
    }

    /// Chooses and reports the run that commands apply to now, if one is still stopped.
    fn select_next_stop(&mut self) {
        if let Some(stop) = self.inbox.stops().first()
            && self.current.is_none()
        {
            self.current = Some(stop.sequence);
            self.report_stop(&stop.clone());
        }
    }

    /// Returns whether there are runs that are not stopped. A program that is attached to may always have some.
    fn has_running(&self) -> bool {
        match &self.debuggee {
            Some(debuggee) => debuggee.threads() > self.inbox.stops().len(),
            None => !self.over,
        }
    }
}

fn reason_or(reason: String) -> String {
    if reason.is_empty() { "the debugger ended it".to_owned() } else { reason }
}

/// Returns whether a run is stopped because it failed. Its tensors are gone.
pub fn has_failed(stop: &Event) -> bool {
    stop.kind.stop_cause() == Some(StopCause::Failure)
}
