//! The current context of each thread, as its handle.

use std::cell::Cell;

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Returns the handle of the thread's current context, which may have been destroyed; 0 if none was made current.
pub fn get() -> usize {
    CURRENT.try_with(Cell::get).unwrap_or(0)
}

/// Makes a context current. Has no effect on a thread that is being torn down.
pub fn set(context: usize) {
    let _ = CURRENT.try_with(|current| current.set(context));
}
