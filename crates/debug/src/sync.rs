//! Locks and signals, either the real ones or loom's, which try every order in which threads can run; and a descriptor
//! for `poll`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
use opscope_clock::Clock;
#[cfg(not(loom))]
pub(crate) use opscope_sys::{Condvar, Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};

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

/// A file descriptor that is readable while it is signalled: an `eventfd`. Under loom it also stores whether it is.
pub(crate) struct EventDescriptor {
    fd: OwnedFd,
    #[cfg(loom)]
    signalled: loom::sync::atomic::AtomicBool,
}

impl EventDescriptor {
    /// Makes a descriptor that is not signalled.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            #[cfg(loom)]
            signalled: loom::sync::atomic::AtomicBool::new(false),
        })
    }

    /// Makes it readable.
    pub fn signal(&self) {
        #[cfg(loom)]
        self.signalled.store(true, loom::sync::atomic::Ordering::SeqCst);
        // The counter does not overflow, because callers signal only a descriptor that they have cleared.
        let _ = write(&self.fd, &1u64.to_ne_bytes());
    }

    /// Makes it unreadable.
    pub fn clear(&self) {
        #[cfg(loom)]
        self.signalled.store(false, loom::sync::atomic::Ordering::SeqCst);
        let _ = read(&self.fd, &mut [0; 8]);
    }

    #[cfg(all(test, loom))]
    pub fn is_signalled(&self) -> bool {
        self.signalled.load(loom::sync::atomic::Ordering::SeqCst)
    }
}

impl AsFd for EventDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
