//! Callback threads that wait for each other.
//!
//! A callback may flush, fill or destroy any buffer, and then waits for that buffer's callback thread. It must not wait
//! if that would close a circle of callback threads that wait for each other.

use std::cell::Cell;

use crate::sync::{Mutex, MutexGuard};

thread_local! {
    /// The number of the callback thread that is running; 0 on all other threads.
    static THIS: Cell<u64> = const { Cell::new(0) };
}

/// The waits of callback threads, as pairs of numbers: the thread that waits, and the thread that it waits for.
static WAITS: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

/// A wait of one callback thread for another. It is registered until this is dropped.
#[derive(Debug)]
pub(in crate::buffer) struct Wait {
    registered: Option<(u64, u64)>,
}

/// Makes the calling thread the callback thread with this number.
pub(super) fn set_this_thread(number: u64) {
    THIS.set(number);
}

/// Returns the number of the calling callback thread, or 0 on all other threads.
pub(super) fn this_thread() -> u64 {
    THIS.get()
}

/// Begins to wait for the callback thread with this number. Returns `None` if the wait would never end.
pub(super) fn begin_wait(on: u64) -> Option<Wait> {
    let this = THIS.get();
    if this == 0 {
        return Some(Wait { registered: None });
    }
    let mut waits = lock();
    let mut last = on;
    while last != this {
        match waits.iter().find(|wait| wait.0 == last) {
            Some(wait) => last = wait.1,
            None => {
                waits.push((this, on));
                return Some(Wait { registered: Some((this, on)) });
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

/// The locked list of waits.
pub(in crate::buffer) type Lock = MutexGuard<'static, Vec<(u64, u64)>>;

pub(in crate::buffer) fn lock() -> Lock {
    WAITS.lock()
}
