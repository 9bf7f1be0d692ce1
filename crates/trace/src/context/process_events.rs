//! What contexts do at a fork and at the exit of the process.

use std::sync::MutexGuard;
use std::time::Duration;

use super::registry::{self, Registry};
use crate::TraceError;
use crate::buffer::{destroy_all, register_for_process_events};
use crate::process::{HeldLocks, Registration};
use crate::record::BufferId;

/// Stops every context and destroys every buffer, and waits at most `patience` until everything is delivered. Returns the
/// buffers that were not done then. Their callbacks continue.
pub fn shutdown(patience: Duration) -> Vec<BufferId> {
    registry::stop_all();
    destroy_all(patience)
}

static REGISTRATION: Registration =
    Registration::new(|| Box::new(ContextLock { _guard: registry::lock() }), stop_at_exit);

/// Registers the contexts for forks and the exit of the process, once. The buffers register first, so they act last: a
/// context's lock is taken before a buffer's, and contexts stop before buffers are destroyed.
pub(super) fn register() -> Result<(), TraceError> {
    register_for_process_events()?;
    REGISTRATION.ensure()
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
