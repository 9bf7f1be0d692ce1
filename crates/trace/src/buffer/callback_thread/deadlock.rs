//! Callback threads that wait for each other.
//!
//! A callback may flush, fill or destroy any buffer. Where that would close a circle of callback threads that wait for
//! each other, it must not wait.

use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::CallbackThread;

thread_local! {
    /// The number of the callback thread that this is; 0 for all others.
    static THIS: Cell<u64> = const { Cell::new(0) };
}

/// Which callback thread waits for which one.
static WAITS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A wait that is registered as long as this lives.
#[derive(Debug)]
pub(crate) struct Wait {
    registered: Option<(u64, u64)>,
}

/// From here on this thread is the callback thread of this number.
pub(crate) fn this_is(thread: u64) {
    THIS.set(thread);
}

/// Whether this is the callback thread of that number.
pub(crate) fn is_this(thread: u64) -> bool {
    THIS.get() == thread
}

/// Forgets who waits, in the child of a fork: nobody does.
pub(crate) fn begin_anew() {
    lock().clear();
}

/// Begins to wait for a callback thread; none where it would never end.
pub(crate) fn begin(on: &CallbackThread) -> Option<Wait> {
    let this = THIS.get();
    if this == 0 {
        return Some(Wait { registered: None });
    }
    let mut waits = lock();
    let mut last = on.number();
    while last != this {
        match waits.iter().find(|wait| wait.0 == last) {
            Some(wait) => last = wait.1,
            None => {
                waits.push((this, on.number()));
                return Some(Wait { registered: Some((this, on.number())) });
            }
        }
    }
    None
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(registered) = self.registered {
            let mut waits = lock();
            if let Some(index) = waits.iter().position(|wait| *wait == registered) {
                waits.swap_remove(index);
            }
        }
    }
}

/// The list. Nothing panics between two halves of a change.
pub(crate) fn lock() -> MutexGuard<'static, Vec<(u64, u64)>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}
