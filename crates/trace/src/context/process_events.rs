//! Forks and the exit of the process, as contexts handle them.

use std::time::Duration;

use super::registry::{self, Registry};
use super::{emit, open_ranges};
use crate::TraceError;
use crate::buffer::{destroy_all, register_for_process_events};
use crate::process::{HeldLocks, Registration};
use crate::record::BufferId;
use crate::sync::MutexGuard;
use crate::sync::inside::{Counter, set_counter};

/// Stops every context and destroys every buffer, and waits at most `patience` until everything is delivered. Returns
/// the buffers that were not done by then. Their callbacks continue.
pub fn shutdown(patience: Duration) -> Vec<BufferId> {
    registry::stop_all();
    destroy_all(patience)
}

static REGISTRATION: Registration = Registration::new(
    || Box::new(ContextLocks { _registry: registry::lock(), ranges: open_ranges::threads() }),
    stop_at_exit,
);

/// Registers the handlers of buffers and contexts for forks and the exit of the process. Without this call, the first
/// buffer or context registers them. Functions that a program registers with `atexit` after this call run before
/// buffers are destroyed.
///
/// # Errors
/// Returns an error if the system has no memory for it.
pub fn register_process_events() -> Result<(), TraceError> {
    register()
}

/// Registers the contexts for forks and the exit of the process, once. The buffers register first, so they act last: a
/// context's lock is taken before a buffer's, and contexts stop before buffers are destroyed.
pub(super) fn register() -> Result<(), TraceError> {
    register_for_process_events()?;
    set_counter(Counter::Contexts, emit::count_dropped_in_handler);
    REGISTRATION.ensure()
}

extern "C" fn stop_at_exit() {
    registry::stop_all();
}

struct ContextLocks {
    _registry: MutexGuard<'static, Registry>,
    ranges: open_ranges::Lock,
}

impl HeldLocks for ContextLocks {
    /// Releases the locks: the child keeps the contexts, and the open ranges of its only thread.
    fn reset_in_child(self: Box<Self>) {
        open_ranges::reset_after_fork(self.ranges);
    }
}
