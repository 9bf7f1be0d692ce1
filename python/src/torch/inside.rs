//! Whether a thread is inside the tap.

use std::cell::Cell;

thread_local! {
    /// Whether this thread is inside the tap, which itself calls operators.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks the thread as inside the tap, until it is dropped.
pub struct Inside;

impl Inside {
    /// Returns `None` if the thread is inside already.
    pub fn enter() -> Option<Self> {
        // Not `then_some`: a mark that is made and dropped would end the one that the thread has.
        IS_INSIDE.with(|is_inside| !is_inside.replace(true)).then(|| Self)
    }

    /// Calls a function that is outside of the tap.
    pub fn leave<R>(&self, call: impl FnOnce() -> R) -> R {
        IS_INSIDE.with(|is_inside| is_inside.set(false));
        let result = call();
        IS_INSIDE.with(|is_inside| is_inside.set(true));
        result
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_INSIDE.with(|is_inside| is_inside.set(false));
    }
}
