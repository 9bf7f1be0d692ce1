//! The run that a tap belongs to.

use std::cell::Cell;
use std::ptr;

use super::run::Watched;
use super::values::TapCall;
use crate::errors::Refusal;

thread_local! {
    /// This thread's current run, if it is observed.
    static CURRENT: Cell<*const Watched<'static>> = const { Cell::new(ptr::null()) };
}

/// Returns whether this thread's current run is observed.
#[inline]
pub(super) fn is_watched() -> bool {
    !CURRENT.get().is_null()
}

/// Called by the library when it executes a tap in an observed run.
pub(super) fn at_tap(number: usize, call: &TapCall) -> Result<(), Refusal> {
    let watched = CURRENT.get();
    if watched.is_null() {
        return call.hand_on();
    }
    // SAFETY: `watching` sets the pointer to a live value, and resets it before it returns.
    unsafe { &*watched }.at(number, call)
}

/// Restores the previous value when a run ends, even by a panic.
struct Restore(*const Watched<'static>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Calls `work`. Meanwhile the taps of this thread are not observed.
pub(crate) fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CURRENT.replace(ptr::null()));
    work()
}

/// Calls `work`. Meanwhile the taps of this thread call the observer of a run.
pub(crate) fn watching<T>(watched: &Watched<'_>, work: impl FnOnce() -> T) -> T {
    let this: *const Watched<'_> = watched;
    let _restore = Restore(CURRENT.replace(this.cast()));
    work()
}
