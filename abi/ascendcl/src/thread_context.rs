//! What the library knows of each thread: its current context, as its handle, and the last code of a runtime function.

use std::cell::Cell;
use std::ffi::c_int;

use opscope_border::{Answer, exported};

use crate::border::Failure;

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

thread_local! {
    static LAST: Cell<c_int> = const { Cell::new(0) };
}

/// The only level: that of the thread.
const THREAD_LEVEL: c_int = 0;

/// Runs the body of a runtime function, and stores its code if it fails.
pub fn runtime_call(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    let code = Answer::answer(body);
    if code != 0 {
        // While the thread is being torn down, the code is not stored.
        let _ = LAST.try_with(|last| last.set(code));
    }
    code
}

/// Returns the code of the last runtime function that failed on this thread, or 0, and resets it.
#[exported]
pub fn aclrtGetLastError(level: c_int) -> c_int {
    answer(level, |last| last.replace(0))
}

/// Returns the code of the last runtime function that failed on this thread, or 0.
#[exported]
pub fn aclrtPeekAtLastError(level: c_int) -> c_int {
    answer(level, Cell::get)
}

fn answer(level: c_int, read: impl FnOnce(&Cell<c_int>) -> c_int) -> c_int {
    if level != THREAD_LEVEL {
        return Answer::answer(|| Err(Failure::wrong_value("level", level, "only ACL_RT_THREAD_LEVEL (0) is known")));
    }
    LAST.try_with(read).unwrap_or(0)
}
