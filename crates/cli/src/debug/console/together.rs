//! What a console does as one of several, whose processes continue together.

use anyhow::Result;
use opscope::debug::Resume;

use super::Console;
use super::execution::has_failed;
use crate::debug::command::Command;
use crate::debug::events::ConsoleEvent;

/// What has come for a console.
pub enum Polled {
    /// A run has stopped.
    Stopped,
    /// Something else has happened.
    Reported,
    /// Ctrl-C.
    Interrupted,
}

impl Console {
    /// Returns whether a command lets runs continue, or waits for them.
    pub fn continues(command: &Command) -> bool {
        matches!(
            command,
            Command::Continue { .. }
                | Command::ContinueAll
                | Command::Step(_)
                | Command::Next(_)
                | Command::Finish
                | Command::Until(_)
                | Command::Wait
        )
    }

    /// Lets the stopped run continue as a command says, without waiting until it stops again. Nothing happens if none is
    /// stopped.
    ///
    /// # Errors
    /// Returns an error if it cannot continue like this.
    pub fn continue_without_waiting(&mut self, command: &Command) -> Result<()> {
        let Ok(stop) = self.stop() else { return Ok(()) };
        // It may have stopped when nothing waited for it any more; what continues is not reported.
        self.report_waiting();
        let resume = match command {
            Command::Wait => return Ok(()),
            _ if has_failed(&stop) => Resume::Continue,
            Command::Step(_) => Resume::Step,
            Command::Next(_) => Resume::Over,
            Command::Until(target) => Resume::Until(target.clone()),
            Command::Finish => self.out_of(&stop),
            _ => Resume::Continue,
        };
        self.resume_run(stop.sequence, resume)
    }

    /// Reports what has come first, if anything has.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn poll(&mut self) -> Result<Option<Polled>> {
        let Some(event) = self.inbox.take() else { return Ok(None) };
        match event {
            ConsoleEvent::Interrupted => return Ok(Some(Polled::Interrupted)),
            ConsoleEvent::Stopped(event) => {
                self.current = Some(event.sequence);
                self.listing = None;
                self.report_stop(&event);
                return Ok(Some(Polled::Stopped));
            }
            ConsoleEvent::Reported(event) => self.report_event(&event, false),
            other => self.report(other),
        }
        Ok(Some(Polled::Reported))
    }
}
