//! Callbacks beside the one of `acldumpRegCallback`: any number of them, each with a pointer of its own, and with a say.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{Chunk, acldumpChunk};
use super::queue;
use crate::border::{Data, Failure, call, call_program, out, required, say};
use crate::forks::Shared;

/// A callback. What it returns says what it wants of what follows.
pub type Callback = unsafe extern "C-unwind" fn(*mut c_void, *const acldumpChunk, i32) -> i32;

/// Everything.
const CONTINUE: i32 = 0;
/// No more of this file.
const SKIP: i32 = 1;

struct Subscriber {
    id: u64,
    callback: Callback,
    user: Data,
    /// The files of which it wants no more.
    skipped: Vec<PathBuf>,
}

static SUBSCRIBERS: Shared<Vec<Subscriber>> = Shared::new(Vec::new(), || SUBSCRIBERS.held(|_| {}));

/// Adds a callback that gets all chunks from now on, on the thread on which that of `acldumpRegCallback` is called, after it. As long
/// as there is one, nothing goes to the disk. It returns 0 to go on, 1 for no more of this file, anything else for no more at all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_acldump_subscribe(
    callback: Option<Callback>,
    user: *mut c_void,
    subscription: *mut u64,
) -> c_int {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    call(|| {
        let callback = required(callback, "callback")?;
        let to = out(subscription, "subscription")?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        SUBSCRIBERS.lock().push(Subscriber { id, callback, user: Data(user), skipped: Vec::new() });
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { to.write(id) };
        Ok(())
    })
}

/// Delivers what is queued, and removes a callback. It is not called afterwards. Inside of a callback it returns at once.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_acldump_unsubscribe(subscription: u64) -> c_int {
    call(|| {
        queue::flush();
        let was_there = remove(subscription);
        // A chunk that was queued meanwhile may be on its way.
        queue::flush();
        let reason = "there is no such subscription, or it has ended";
        if was_there { Ok(()) } else { Err(Failure::wrong_value("subscription", subscription, reason)) }
    })
}

fn remove(id: u64) -> bool {
    let mut subscribers = SUBSCRIBERS.lock();
    let before = subscribers.len();
    subscribers.retain(|subscriber| subscriber.id != id);
    subscribers.len() < before
}

/// Gives a chunk to every subscriber that wants it. Returns whether there is a subscriber.
pub(super) fn call_back(chunk: &Chunk, path: &Path) -> bool {
    let all: Vec<_> = {
        let subscribers = SUBSCRIBERS.read();
        let wanted = |subscriber: &&Subscriber| !subscriber.skipped.iter().any(|skipped| skipped == path);
        if subscribers.is_empty() {
            return false;
        }
        subscribers.iter().filter(wanted).map(|one| (one.id, one.callback, one.user)).collect()
    };
    for (id, callback, user) in all {
        let answer = call_program("a dump subscriber", || {
            // SAFETY: the program gave this function until it takes it back, and the chunk lives until the call has returned.
            unsafe { callback(user.0, chunk.as_ptr(), chunk.length()) }
        });
        match answer {
            Some(CONTINUE) => {}
            Some(SKIP) if chunk.is_last() => {}
            Some(SKIP) => skip(id, path),
            Some(answer) => {
                remove(id);
                say(format_args!("dump subscriber {id} returned {answer}, and gets no more"));
            }
            None => drop(remove(id)),
        }
    }
    if chunk.is_last() {
        forget(path);
    }
    true
}

fn skip(id: u64, path: &Path) {
    if let Some(subscriber) = SUBSCRIBERS.lock().iter_mut().find(|subscriber| subscriber.id == id) {
        subscriber.skipped.push(path.to_owned());
    }
}

/// Forgets that a file was skipped: it has ended.
pub(super) fn forget(path: &Path) {
    if SUBSCRIBERS.read().iter().any(|subscriber| !subscriber.skipped.is_empty()) {
        SUBSCRIBERS.lock().iter_mut().for_each(|subscriber| subscriber.skipped.retain(|skipped| skipped != path));
    }
}
