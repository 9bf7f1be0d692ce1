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
    /// Suspends the device, and waits until all runs are stopped at their next operators. Runs that begin later stop at
    /// their first operators. Returns whether the device was running before.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn suspend(&self) -> Result<bool, DebugError> {
        let was_running = self.suspend_without_waiting()?;
        self.settle()?;
        Ok(was_running)
    }

    /// Does the same as [`suspend`](Self::suspend), but does not wait until the runs have stopped. An event reports
    /// that, if the client asked for such events.
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

    /// Resumes the device: all runs continue.
    ///
    /// # Errors
    /// Returns an error if the connection has ended.
    pub fn resume_all(&self) -> Result<(), DebugError> {
        self.state().suspended = false;
        // This comes first, because otherwise the runs would stop again at once.
        self.unless_it_ends(self.update_subscription())?;
        self.release(self.state());
        Ok(())
    }

    /// Moves a stopped run to its next instruction. Afterwards, the run is stopped there, or has ended.
    ///
    /// # Errors
    /// Returns an error if the run is no longer stopped, or if the connection has ended.
    pub fn step(&self, event: Sequence, stop: &Stop) -> Result<(), DebugError> {
        let how = if stop.moment() == Some(Moment::Before) { Resume::Finish } else { Resume::Step };
        self.advance(event, stop.run, how)
    }

    /// Does the same as [`step`](Self::step), unless the run is before an operator with a breakpoint that it has not
    /// hit yet. Then the run hits the breakpoint instead.
    ///
    /// # Errors
    /// Returns an error if the run is no longer stopped, or if the connection has ended.
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

    /// Waits until a condition holds. Gives up after `patience`, and when the connection has ended.
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

/// Checks that the device is suspended, because only then its state can be read and changed. Notes that the client is
/// active.
pub fn require_suspended(state: &mut State) -> Result<(), Failure> {
    if !state.suspended {
        return Err(Failure::running());
    }
    state.is_attended = true;
    Ok(())
}

/// Returns the failure for a step that cannot be made.
pub fn cannot_step(error: DebugError) -> Failure {
    Failure::new(Status::WarpResumeNotPossible, error.to_string())
}
