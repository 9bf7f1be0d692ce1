//! Synchronisation of threads: atomics, a memory barrier, and locks whose holders are visible to signal handlers.
//!
//! Under loom, these are loom's own, which try every order in which threads can run and every value that they may see.

pub(crate) mod barrier;
pub(crate) mod inside;
mod lock;

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

pub use inside::Inside;
pub(crate) use lock::Condvar;
pub use lock::{Mutex, MutexGuard};

/// Lets another thread run while this one waits for it.
pub(crate) fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}
