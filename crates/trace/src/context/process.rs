//! What contexts do at a fork and at the exit of the process.

use std::io;
use std::sync::{MutexGuard, OnceLock};
use std::time::Duration;

use super::registry::{self, Registry};
use crate::TraceError;
use crate::buffer::{destroy_all, prepare_for_forks};
use crate::process::{HeldLocks, call_at_exit, hold_across_forks};
use crate::record::BufferId;

/// Stops every context and destroys every buffer, and waits at most `patience` until everything is delivered. Returns the
/// buffers that were not done then. Their callbacks continue.
pub fn shutdown(patience: Duration) -> Vec<BufferId> {
    registry::stop_all();
    destroy_all(patience)
}

/// Registers for forks and the exit of the process, once. The room below is registered first: a context's lock is taken
/// before a buffer's, and contexts stop before buffers are destroyed.
pub(super) fn prepare() -> Result<(), TraceError> {
    static ERROR: OnceLock<Option<io::ErrorKind>> = OnceLock::new();
    prepare_for_forks()?;
    let register = || {
        hold_across_forks(|| Box::new(ContextLock { _guard: registry::lock() }))
            .and_then(|()| call_at_exit(stop_at_exit))
    };
    match *ERROR.get_or_init(|| register().err().map(|error| error.kind())) {
        None => Ok(()),
        Some(kind) => {
            Err(TraceError::System { what: "notification of forks and of the process's exit", source: kind.into() })
        }
    }
}

extern "C" fn stop_at_exit() {
    registry::stop_all();
}

struct ContextLock {
    _guard: MutexGuard<'static, Registry>,
}

impl HeldLocks for ContextLock {
    /// Releases the lock: the child keeps the contexts.
    fn reset_in_child(self: Box<Self>) {}
}
