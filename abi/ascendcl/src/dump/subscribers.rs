//! Callbacks in addition to that of `acldumpRegCallback`. There may be any number of them. Each has its own pointer,
//! and chooses what it receives.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{Chunk, acldumpChunk};
use crate::border::{Data, call_program, say};
use crate::forks::Shared;

/// A callback. Its result says what it wants to receive next.
pub type Callback = extern "C-unwind" fn(Data, &acldumpChunk, i32) -> i32;

/// The callback wants all further chunks.
const CONTINUE: i32 = 0;
/// The callback wants no more chunks of this file.
const SKIP: i32 = 1;

struct Subscriber {
    id: u64,
    callback: Callback,
    user: Data,
    /// The files whose chunks it does not want any more.
    skipped: Vec<PathBuf>,
}

static SUBSCRIBERS: Shared<Vec<Subscriber>> = Shared::new(Vec::new(), || SUBSCRIBERS.held(|_| {}));

/// Adds a callback. Returns its number.
pub(super) fn add(callback: Callback, user: Data) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut subscribers = SUBSCRIBERS.lock();
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    subscribers.push(Subscriber { id, callback, user, skipped: Vec::new() });
    id
}

/// Removes a callback. Returns whether it was there.
pub(super) fn remove(id: u64) -> bool {
    let mut subscribers = SUBSCRIBERS.lock();
    let before = subscribers.len();
    subscribers.retain(|subscriber| subscriber.id != id);
    subscribers.len() < before
}

/// Returns the newest subscriber, if there is one.
pub(super) fn newest() -> Option<u64> {
    SUBSCRIBERS.read().last().map(|subscriber| subscriber.id)
}

/// Passes a chunk to every subscriber that wants it and was not added after `newest`. Returns whether there is such a
/// subscriber.
pub(super) fn call_back(newest: u64, chunk: &Chunk, path: &Path) -> bool {
    let all: Vec<_> = {
        let subscribers = SUBSCRIBERS.read();
        let old = || subscribers.iter().filter(|subscriber| subscriber.id <= newest);
        let wanted = |subscriber: &&Subscriber| !subscriber.skipped.iter().any(|skipped| skipped == path);
        if old().next().is_none() {
            return false;
        }
        old().filter(wanted).map(|one| (one.id, one.callback, one.user)).collect()
    };
    for (id, callback, user) in all {
        let answer = call_program("a dump subscriber", || callback(user, chunk.head(), chunk.length()));
        match answer {
            Some(CONTINUE) => {}
            Some(SKIP) if chunk.is_last() => {}
            Some(SKIP) => skip(id, path),
            Some(answer) => {
                remove(id);
                say(format_args!("dump subscriber {id} returned {answer}, and gets no more"));
            }
            None => {
                remove(id);
            }
        }
    }
    true
}

fn skip(id: u64, path: &Path) {
    if let Some(subscriber) = SUBSCRIBERS.lock().iter_mut().find(|subscriber| subscriber.id == id) {
        subscriber.skipped.push(path.to_owned());
    }
}

/// Removes a file that has ended from the lists of skipped files.
pub(super) fn forget(path: &Path) {
    if SUBSCRIBERS.read().iter().any(|subscriber| !subscriber.skipped.is_empty()) {
        SUBSCRIBERS.lock().iter_mut().for_each(|subscriber| subscriber.skipped.retain(|skipped| skipped != path));
    }
}
