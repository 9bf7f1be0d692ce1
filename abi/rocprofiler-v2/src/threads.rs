//! The calling thread: its number in the operating system, an identity, and whether it is in a callback.

use std::cell::Cell;

use opscope_trace::current_thread;

thread_local! {
    /// Whether the thread is in the callback of a buffer. Its address is the thread's identity.
    static IS_DELIVERING: Cell<bool> = const { Cell::new(false) };
}

/// Returns the number of the calling thread in the operating system.
#[inline]
pub fn current() -> u32 {
    current_thread().0
}

/// Returns a value that identifies the calling thread among all running ones. Unlike its number, it stays the same in
/// the child of a fork.
pub fn identity() -> usize {
    IS_DELIVERING.with(|flag| std::ptr::from_ref(flag).addr())
}

/// Returns whether the calling thread is in the callback of a buffer.
pub fn is_delivering() -> bool {
    IS_DELIVERING.get()
}

/// Runs code that calls the callback of a buffer.
pub fn deliver<R>(body: impl FnOnce() -> R) -> R {
    let before = IS_DELIVERING.replace(true);
    let result = body();
    IS_DELIVERING.set(before);
    result
}
