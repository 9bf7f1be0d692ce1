//! Which run a tap belongs to.

use std::cell::Cell;
use std::ptr;

use super::run::Watched;
use super::values::TapCall;

thread_local! {
    /// The run that is going on on this thread, if it is watched.
    static CURRENT: Cell<*const Watched<'static>> = const { Cell::new(ptr::null()) };
}

/// Returns whether the run that is going on on this thread is watched.
#[inline]
pub(super) fn is_watched() -> bool {
    !CURRENT.get().is_null()
}

/// Called by the library when it executes a tap in a run that is watched.
pub(super) fn at_tap(number: usize, call: &TapCall) -> Result<(), String> {
    let watched = CURRENT.get();
    if watched.is_null() {
        return call.hand_on();
    }
    // SAFETY: `watching` sets the pointer to itself and takes it back before it returns.
    unsafe { &*watched }.at(number, call)
}

/// Takes back what was set when a run ends, also by a panic.
struct Restore(*const Watched<'static>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Does `work`, in which the taps of this thread are not watched.
pub(crate) fn unwatched<T>(work: impl FnOnce() -> T) -> T {
    let _restore = Restore(CURRENT.replace(ptr::null()));
    work()
}

/// Does `work`, in which the taps of this thread call the observer of a run.
pub(crate) fn watching<T>(watched: &Watched<'_>, work: impl FnOnce() -> T) -> T {
    let this: *const Watched<'_> = watched;
    let _restore = Restore(CURRENT.replace(this.cast()));
    work()
}
