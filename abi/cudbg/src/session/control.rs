use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use opscope_debug::{DebugError, Moment, Resume, RunState, Sequence};
use opscope_model::RunId;

use super::event::{Case, Event};
use super::stops::Stop;
use super::{Session, State};
use crate::border::{Failure, Status};

/// How long a suspension or a step waits for an operator that is being executed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a suspension between two runs waits for the next one.
const NEXT_RUN: Duration = Duration::from_millis(300);

impl Session {
    /// Stops all runs at their next operators, and those that begin later. Returns whether the device ran before.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn suspend(&self) -> Result<bool, DebugError> {
        let was_running = self.suspend_without_waiting()?;
        self.settle()?;
        Ok(was_running)
    }

    /// The same without waiting until the runs have stopped. Then an event says so.
    ///
    /// # Errors
    /// Returns an error if the connection has ended, or the system has no thread left.
    pub fn suspend_in_background(self: &Arc<Self>) -> Result<bool, Failure> {
        let was_running = self.suspend_without_waiting()?;
        if was_running && self.options.wants_suspensions() {
            let session = Arc::clone(self);
            let wait = move || {
                let is_settled = session.settle().is_ok();
                if is_settled && session.state().suspended {
                    session.announce(Event::of_program(Case::AllDevicesSuspended { broken: 0, faulted: 0 }));
                }
            };
            let thread = thread::Builder::new().name("cudbg-suspend".into()).spawn(wait);
            thread.map_err(|error| Failure::new(Status::OsResources, error.to_string()))?;
        }
        Ok(was_running)
    }

    fn suspend_without_waiting(&self) -> Result<bool, DebugError> {
        let mut state = self.state();
        let was_running = !std::mem::replace(&mut state.suspended, true);
        state.is_attended = true;
        drop(state);
        self.unless_it_ends(self.update_subscription())?;
        Ok(was_running)
    }

    /// Lets all runs continue.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn resume_all(&self) -> Result<(), DebugError> {
        self.state().suspended = false;
        // First this: otherwise they would stop again at once.
        self.unless_it_ends(self.update_subscription())?;
        self.release(self.state());
        Ok(())
    }

    /// Moves a stopped run to its next instruction. It need not be stopped any more afterwards: a run may end.
    ///
    /// # Errors
    /// Returns an error if the run does not wait any more, or the connection has ended.
    pub fn step(&self, event: Sequence, stop: &Stop) -> Result<(), DebugError> {
        let how = if stop.moment() == Some(Moment::Before) { Resume::Finish } else { Resume::Step };
        self.advance(event, stop.run, how)
    }

    /// The same, but a breakpoint at the operator that the run is before stops it there: it has only come to it.
    ///
    /// # Errors
    /// Returns an error if the run does not wait any more, or the connection has ended.
    pub fn step_or_hit(&self, event: Sequence, stop: &Stop) -> Result<(), DebugError> {
        let is_due = stop.moment() == Some(Moment::Before) && !stop.is_broken();
        if is_due && self.state().breakpoints.is_enabled_at(stop.address) {
            return self.advance(event, stop.run, Resume::Continue);
        }
        self.step(event, stop)
    }

    fn advance(&self, event: Sequence, run: RunId, how: Resume) -> Result<(), DebugError> {
        self.update_subscription()?;
        self.state().stepping = Some(run);
        if let Err(error) = self.resume(event, how) {
            self.state().stepping = None;
            return Err(error);
        }
        self.wait_until(PATIENCE, |state| state.stepping.is_none());
        self.state().stepping = None;
        Ok(())
    }

    /// Waits until each run is stopped, or has ended.
    fn settle(&self) -> Result<(), DebugError> {
        if self.state().is_released {
            return Ok(());
        }
        let Some(status) = self.unless_it_ends(self.client.status().map(Some))? else { return Ok(()) };
        let runs = status.runs;
        let is_running = |run: &&RunState| run.thread != 0 && run.stopped.is_none();
        let mut running: Vec<RunId> = runs.iter().filter(is_running).map(|run| run.run).collect();
        self.fetch_and_notify();
        self.wait_until(PATIENCE, |state| {
            running.retain(|run| !state.is_settled(*run));
            running.is_empty()
        });
        if self.options.wants_next_run() && !self.state().modules.is_empty() {
            self.wait_until(NEXT_RUN, |state| state.stops().next().is_some());
        }
        Ok(())
    }

    /// Waits until something is so. Gives up after a while, and when the connection has ended.
    fn wait_until(&self, patience: Duration, mut is_so: impl FnMut(&State) -> bool) {
        let until = Instant::now() + patience;
        let mut state = self.state();
        while !is_so(&state) && !state.is_over {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.changed.wait_timeout(state, left);
        }
    }
}

/// Checks that the device is suspended: only then its state can be read and changed.
pub fn require_suspended(state: &mut State) -> Result<(), Failure> {
    if !state.suspended {
        return Err(Failure::running());
    }
    state.is_attended = true;
    Ok(())
}

/// The failure of a step that cannot be made.
pub fn cannot_step(error: DebugError) -> Failure {
    Failure::new(Status::WarpResumeNotPossible, error.to_string())
}
