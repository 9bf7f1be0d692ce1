//! Locks that a signal handler can see: a thread that holds one is inside of a call.

use std::ops::{Deref, DerefMut};
use std::time::Instant;

use opscope_clock::Clock;

use super::Inside;

/// A lock. A thread that waits for it or holds it is inside of a call, so a record that a signal handler of the thread
/// emits meanwhile is dropped and counted, instead of waiting for the lock. A panic does not poison it.
#[derive(Debug, Default)]
pub struct Mutex<T>(opscope_sys::Mutex<T>);

/// The guard of a [`Mutex`], through which its data is used.
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    // The fields are dropped in this order, so that the thread is inside of a call until the lock is released.
    guard: opscope_sys::MutexGuard<'a, T>,
    inside: Inside,
}

impl<T> Mutex<T> {
    /// Creates a lock.
    pub const fn new(value: T) -> Self {
        Self(opscope_sys::Mutex::new(value))
    }

    /// Waits for the lock.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let inside = Inside::enter();
        MutexGuard { guard: self.0.lock(), inside }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

/// A condition variable for a [`Mutex`]. A thread that waits for it is inside of a call meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Condvar(opscope_sys::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(opscope_sys::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, MutexGuard { guard, inside }: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard { guard: self.0.wait(guard), inside }
    }

    /// As [`wait`](Self::wait), but at most until a moment of a clock.
    pub(crate) fn wait_until<'a, T>(
        &self,
        clock: &Clock,
        MutexGuard { guard, inside }: MutexGuard<'a, T>,
        until: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        MutexGuard { guard: clock.wait(&self.0, guard, until), inside }
    }
}
