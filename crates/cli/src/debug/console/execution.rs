//! Starting runs, letting them go on, and waiting until one stops.

use anyhow::{Context, Result, bail};
use opscope::debug::{
    BreakpointChange, DebugError, ErrorCode, Event, EventKind, EventName, EventSet, Exception, OperatorMapping, Resume,
    Sequence, StopCause, Target,
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
            bail!("the program that was attached to starts its runs itself; `wait` waits until one stops");
        };
        debuggee.start(runs, threads, &self.inbox).context("no thread could be started for the run")?;
        self.wait(None).map(drop)
    }

    pub(super) fn step(&mut self, steps: u64) -> Result<()> {
        for _ in 0..steps {
            let stop = self.stop_in_run()?;
            let run = stop.kind.run();
            let next = self.resume_and_wait(&stop, Resume::Step, run)?;
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
        self.resume_and_wait(&stop, Resume::Finish, stop.kind.run()).map(drop)
    }

    pub(super) fn until(&mut self, target: Target) -> Result<()> {
        let stop = self.stop_in_run()?;
        let model = self.client.location(stop.sequence)?.model;
        let rows = self.client.operators(model, &target.to_string(), 0, usize::MAX)?.operators;
        if !rows.is_empty() && rows.iter().all(|row| row.mapping == OperatorMapping::Removed) {
            bail!(
                "nothing is executed for '{target}', so the run never comes there; `info operators {target}` says more"
            );
        }
        self.resume_and_wait(&stop, Resume::Until(target), stop.kind.run()).map(drop)
    }

    pub(super) fn continue_run(&mut self, pass: u64) -> Result<()> {
        let Ok(stop) = self.stop() else {
            return if self.has_running() { self.wait(None).map(drop) } else { self.stop().map(drop) };
        };
        if pass > 0 {
            let (EventKind::Breakpoint { breakpoints, .. }
            | EventKind::Exception { exception: Exception::NonFinite { breakpoints, .. }, .. }) = &stop.kind
            else {
                bail!("the run is not stopped at a breakpoint, whose hits could pass; `continue` alone goes on");
            };
            for &breakpoint in breakpoints {
                let change = BreakpointChange { ignore: Some(pass), ..BreakpointChange::default() };
                match self.client.change_breakpoint(breakpoint, change) {
                    // A breakpoint for one stop is gone by now.
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

    /// All that is stopped, also what has stopped by now without that having come here.
    fn caught_up(&self) -> Result<Vec<Event>> {
        if let Some(newest) = self.client.status()?.stopped.iter().map(|stop| stop.event).max() {
            self.inbox.catch_up(newest);
        }
        Ok(self.inbox.stops())
    }

    /// One that has gone on by itself needs nothing.
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
            self.output.note(format!("`run` has {left} to start; `abort --all` ends them, too."));
        }
        self.resume_and_wait(&stop, Resume::Abort(reason_or(reason)), stop.kind.run()).map(drop)
    }

    /// Ends all runs where they are stopped, and starts none of those that were to come.
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
            // Of our own runs one may have been on its way to a stop.
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
            true => bail!("what runs is stopped already; `continue` lets it go on"),
            false => bail!("no run is going on; `run` starts one"),
        }
    }

    /// Waits for the next stop. One that came before anybody waited counts: it may come as soon as its breakpoint is set.
    pub(super) fn await_stop(&mut self) -> Result<()> {
        if let Some(stop) = self.unawaited.take().and_then(|stop| self.inbox.stop(stop)) {
            self.report_stop(&stop);
            return Ok(());
        }
        if !self.has_running() && !self.inbox.has_stop() {
            bail!("no run is going on; `run` starts one");
        }
        self.wait(None).map(drop)
    }

    pub(super) fn detach(&mut self) -> Result<()> {
        self.release()?;
        let waited = if self.debuggee.is_some() { self.wait(None).map(drop) } else { Ok(()) };
        self.over = true;
        waited
    }

    /// Detaches, when what is stopped was answered: then nobody has to be let go without an answer.
    pub(super) fn release(&self) -> Result<()> {
        for breakpoint in self.client.breakpoints()? {
            self.client.remove_breakpoint(breakpoint.id)?;
        }
        for stop in self.inbox.stops() {
            // It may have gone on when its lease ran out.
            let _ = self.client.acknowledge(stop.sequence, Resume::Continue);
            self.inbox.forget(stop.sequence);
        }
        Ok(self.client.detach()?)
    }

    /// Lets a stopped run go on, and waits until something stops. `only` is the run whose end ends the waiting, too.
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

    fn resume_run(&mut self, event: Sequence, resume: Resume) -> Result<()> {
        let acknowledged = self.client.acknowledge(event, resume);
        let gone_on = matches!(&acknowledged, Err(error) if error.code() == ErrorCode::AlreadyContinued);
        if acknowledged.is_ok() || gone_on {
            self.inbox.forget(event);
            if self.current == Some(event) {
                self.current = None;
            }
        }
        Ok(acknowledged?)
    }

    /// Waits until a run stops, which it returns, or nothing is left that could.
    pub(super) fn wait(&mut self, only: Option<RunId>) -> Result<Option<Event>> {
        self.inbox.forget_interrupts();
        self.inbox.drain(true);
        let outcome = self.take_until_stop(only);
        self.inbox.drain(false);
        self.report_condition_errors();
        outcome
    }

    fn take_until_stop(&mut self, only: Option<RunId>) -> Result<Option<Event>> {
        // The run that commands meant, as long as it is there.
        let mut meant = only;
        loop {
            // In this order: what ends the last run is on the inbox before the run is counted as over.
            let nothing_runs = !self.has_running();
            let news = match self.inbox.take() {
                Some(news) => news,
                None if nothing_runs => {
                    self.select_next_stop();
                    return Ok(None);
                }
                None => self.inbox.wait(),
            };
            match news {
                ConsoleEvent::Interrupted => {
                    self.output.interrupted();
                    match self.client.pause(None) {
                        // Its runs are left alone, and need not be waited for.
                        Err(error) if error.code() == ErrorCode::NotAttached => return Ok(None),
                        Ok(0) if !self.inbox.stops().is_empty() => {
                            self.output.note("What runs is stopped already; `continue` lets it go on.");
                            return Ok(None);
                        }
                        Ok(0) if self.debuggee.is_none() => {
                            self.output.note("No run is going on; the next one stops. Ctrl-C twice leaves.");
                        }
                        asked => drop(asked?),
                    }
                }
                ConsoleEvent::Reported(event) => {
                    let ended = match &event.kind {
                        EventKind::RunPopped { run, .. } if self.debuggee.is_none() => only == Some(*run),
                        _ => false,
                    };
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
                        self.output.note(format!("Commands mean run {stopped} now; `thread {meant}` goes back."));
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

    /// Tells what there was before the debugger came.
    pub fn greet(&mut self) {
        while !self.over {
            match self.inbox.wait() {
                ConsoleEvent::Reported(event) if event.kind.name() == EventName::AttachComplete => break,
                ConsoleEvent::Reported(_) if self.output.quiet && !self.output.json => {}
                news => self.report(news),
            }
        }
    }

    /// Tells what has happened in the meantime.
    pub fn report_waiting(&mut self) {
        while let Some(news) = self.inbox.take() {
            self.report(news);
        }
    }

    fn report(&mut self, news: ConsoleEvent) {
        match news {
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

    fn report_stop(&self, event: &Event) {
        let location = self.client.location(event.sequence).ok();
        let text = show::stopped(event, location.as_ref());
        self.output.result("stopped", json!({ "event": event, "location": location }), text);
    }

    fn report_event(&self, event: &Event, anyway: bool) {
        let name = event.kind.name();
        let wanted = self.shown.contains(name) && !EventSet::ALWAYS.contains(name);
        // How a run of our own ended is told when it is over.
        let told_later = self.debuggee.is_some()
            && (name == EventName::Exception || name == EventName::RunPopped && !self.output.json);
        if (wanted && !told_later) || anyway {
            self.output.result("event", json!({ "event": event }), show::happened(event));
        }
    }

    /// Says which run commands mean now, where others are still stopped.
    fn select_next_stop(&mut self) {
        if let Some(stop) = self.inbox.stops().first()
            && self.current.is_none()
        {
            self.current = Some(stop.sequence);
            self.report_stop(&stop.clone());
        }
    }

    /// Whether there are runs that are not stopped, or may be.
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

/// Whether a run is stopped because it failed: then nothing of it can be looked at any more.
pub fn has_failed(stop: &Event) -> bool {
    stop.kind.stop_cause() == Some(StopCause::Failure)
}
