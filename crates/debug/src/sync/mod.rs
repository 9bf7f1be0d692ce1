//! Locks and signals, either the real ones or loom's, which try every order in which threads can run; and a descriptor
//! for `poll`.

mod event_descriptor;

#[cfg(not(loom))]
pub(crate) use opscope_sys::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

pub(crate) use event_descriptor::EventDescriptor;

use std::time::Instant;

use opscope_clock::Clock;

/// Locks a mutex. Loom's mutexes can be poisoned.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(not(loom))]
    return mutex.lock();
    #[cfg(loom)]
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Waits for a signal, at most until a moment of the clock.
#[cfg(not(loom))]
pub(crate) fn wait_until<'a, T>(
    clock: &Clock,
    signal: &Condvar,
    guard: MutexGuard<'a, T>,
    until: Option<Instant>,
) -> MutexGuard<'a, T> {
    clock.wait(signal, guard, until)
}

/// Waits for a signal. Loom has no time, so a test uses another thread to end a wait for a deadline.
#[cfg(loom)]
pub(crate) fn wait_until<'a, T>(
    _clock: &Clock,
    signal: &Condvar,
    guard: MutexGuard<'a, T>,
    _until: Option<Instant>,
) -> MutexGuard<'a, T> {
    signal.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}
