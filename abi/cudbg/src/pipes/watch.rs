//! Watches the processes of a session: the debugger and the program. A server ends when one of them ends.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};

/// The process that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    Debugger,
    Program,
}

/// Watches two processes, and reports when one ends.
pub struct Watch {
    /// Readable when the debugger has ended; `None` if the system has no such descriptors.
    debugger: Option<OwnedFd>,
    /// Readable when the program has ended; `None` if the system has no such descriptors, or once the program has
    /// ended.
    program: Option<OwnedFd>,
    program_pid: Pid,
    /// The time when the server ends; `None` unless the program is gone.
    until: Option<Instant>,
}

/// How long a debugger may take to close the session after its program is gone.
const GRACE: Duration = Duration::from_secs(5);

/// How often a program that has ended is checked. A debugger may keep it in the process table for a while.
const INTERVAL: Duration = Duration::from_millis(100);

impl Watch {
    /// Watches a debugger and the process that it debugs.
    ///
    /// # Errors
    /// Returns an error if one of them does not exist.
    pub fn new(debugger: Pid, program: Pid) -> Result<Self, Gone> {
        let descriptor = |pid, gone| match pidfd_open(pid, PidfdFlags::empty()) {
            Err(Errno::SRCH) => Err(gone),
            // Without a descriptor, the end of the debugger is noticed through the pipes.
            opened => Ok(opened.ok()),
        };
        Ok(Self {
            debugger: descriptor(debugger, Gone::Debugger)?,
            program: descriptor(program, Gone::Program)?,
            program_pid: program,
            until: None,
        })
    }

    /// Waits until a descriptor is ready, for at most `most`. Returns whether it is ready.
    ///
    /// # Errors
    /// Returns an error if the debugger has ended, or if the program is gone and the debugger has not closed the
    /// session in time.
    pub fn wait(&mut self, ready: Option<(BorrowedFd<'_>, PollFlags)>, most: Option<Duration>) -> Result<bool, Gone> {
        let end = most.map(|most| Instant::now() + most);
        loop {
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            let is_ending = self.program.is_none();
            let timeout = if is_ending { Some(left.map_or(INTERVAL, |left| left.min(INTERVAL))) } else { left };
            let timeout = timeout
                .map(|timeout| Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() });
            let processes = [&self.debugger, &self.program].map(|process| process.as_ref().map(AsFd::as_fd));
            let known = processes.into_iter().flatten().map(|process| (process, PollFlags::IN));
            let mut polled: Vec<PollFd<'_>> =
                ready.into_iter().chain(known).map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)).collect();
            let _ = poll(&mut polled, timeout.as_ref());
            let mut came = polled.iter().map(|fd| !fd.revents().is_empty());
            let is_ready = ready.is_some() && came.next() == Some(true);
            let debugger_ended = self.debugger.is_some() && came.next() == Some(true);
            let program_ended = self.program.is_some() && came.next() == Some(true);
            drop(came);
            if program_ended {
                self.program = None;
            }
            // Requests that a debugger wrote before it ended need no answer.
            if debugger_ended {
                return Err(Gone::Debugger);
            }
            if is_ready {
                return Ok(true);
            }
            if self.program.is_none() {
                self.look_at_program()?;
            }
            if end.is_some_and(|end| Instant::now() >= end) {
                return Ok(false);
            }
        }
    }

    /// Returns whether the traced process sleeps. It does so while the debugger lets it run, but not while it is
    /// stopped, nor while the debugger calls a function in it. A process that has ended counts as sleeping.
    pub fn is_program_waiting(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.program_pid.as_raw_nonzero()));
        // The state follows the command's name, which is in parentheses and may contain some itself.
        let state = stat.ok().and_then(|stat| stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()));
        !matches!(state, Some('t' | 'T' | 'R' | 'D'))
    }

    /// Checks a program that may have ended.
    ///
    /// # Errors
    /// Returns an error if the program is gone and the debugger had enough time to close the session.
    fn look_at_program(&mut self) -> Result<(), Gone> {
        if self.until.is_none() && test_kill_process(self.program_pid) == Err(Errno::SRCH) {
            self.until = Some(Instant::now() + GRACE);
        }
        match self.until {
            Some(until) if Instant::now() >= until => Err(Gone::Program),
            _ => Ok(()),
        }
    }
}
