//! Forks and the exit of the process. The rooms above register what they do when these happen.

mod exit;
mod fork;

use std::io;
use std::sync::OnceLock;

use crate::TraceError;
pub use fork::{HeldLocks, LockRoom, hold_across_forks};

/// What a room does at forks and at the exit of the process.
///
/// The room that registers last acts first. So a room registers after each room whose locks it takes while it holds its
/// own.
pub(crate) struct Registration {
    lock: LockRoom,
    at_exit: extern "C" fn(),
    error: OnceLock<Option<io::ErrorKind>>,
}

impl Registration {
    /// `lock` takes the room's locks before a fork. `at_exit` is called when the process exits; it must not unwind.
    pub(crate) const fn new(lock: LockRoom, at_exit: extern "C" fn()) -> Self {
        Self { lock, at_exit, error: OnceLock::new() }
    }

    /// Registers, once.
    pub(crate) fn ensure(&self) -> Result<(), TraceError> {
        let register = || fork::hold_across_forks(self.lock).and_then(|()| exit::call_at_exit(self.at_exit)).err();
        match *self.error.get_or_init(|| register().map(|error| error.kind())) {
            None => Ok(()),
            Some(kind) => {
                Err(TraceError::System { what: "to report forks and the process's exit", source: kind.into() })
            }
        }
    }
}
