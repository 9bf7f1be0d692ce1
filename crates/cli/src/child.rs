//! Tying a process to another opscope that started it, so that both die together.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// Why this process cannot be tied to the one that started it.
#[derive(Debug, thiserror::Error)]
pub enum TieError {
    #[error("the process that started this one is gone")]
    Gone,
    #[error(transparent)]
    System(#[from] Errno),
}

/// Makes the system kill this process when its parent dies.
///
/// # Errors
/// Returns an error if `parent` has died already, or the system refuses.
pub fn die_with(parent: Pid) -> Result<(), TieError> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(TieError::Gone) }
}
