//! The real locks, or loom's, which try every order in which threads can run.

#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

use std::sync::PoisonError;
use std::time::Instant;

/// Locks. A thread that panicked while it held the lock left nothing half-done: every change is made at once.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a signal, at most until a moment.
///
/// Under loom there is no time: a model ends a wait as a thread of its own does it.
pub(crate) fn wait_until<'a, T>(
    signal: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<Instant>,
) -> MutexGuard<'a, T> {
    #[cfg(not(loom))]
    if let Some(until) = until {
        let left = until.saturating_duration_since(Instant::now());
        return signal.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    #[cfg(loom)]
    let _ = until;
    signal.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
