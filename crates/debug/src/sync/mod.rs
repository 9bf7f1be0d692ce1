//! Locks and signals: the real ones, or loom's, which try every order in which threads can run; and a descriptor for `poll`.

mod event_descriptor;

#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

pub(crate) use event_descriptor::EventDescriptor;

use std::sync::PoisonError;
use std::time::Instant;

/// Locks, even if a thread panicked with the lock held: no change under a lock is left half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a signal, at most until a moment.
///
/// Loom has no time: a test ends such a wait by another thread.
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
