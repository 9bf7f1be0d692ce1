//! Forks and the exit of the process. The rooms above register what they do at these events.

mod exit;
mod fork;

use crate::TraceError;
pub use fork::{ForkRoom, HeldLocks, LockRoom};

/// What a room does at forks and at the exit of the process.
///
/// The room that registers last acts first. So a room must register after every room whose locks it takes while it
/// holds its own.
pub(crate) struct Registration {
    room: ForkRoom,
    at_exit: extern "C" fn(),
}

impl Registration {
    /// `lock` takes the room's locks before a fork. `at_exit` is called when the process exits; it must not unwind.
    pub(crate) const fn new(lock: LockRoom, at_exit: extern "C" fn()) -> Self {
        Self { room: ForkRoom::new(lock), at_exit }
    }

    /// Registers, once.
    pub(crate) fn ensure(&self) -> Result<(), TraceError> {
        let registered = self.room.register_with(|| exit::call_at_exit(self.at_exit));
        registered.map_err(|source| TraceError::System { what: "to report forks and the process's exit", source })
    }
}
