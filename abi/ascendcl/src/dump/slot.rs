//! The callback of `acldumpRegCallback`, which receives the chunks of all dumps.

use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{Chunk, acldumpChunk};
use crate::border::call_program;
use crate::forks::Shared;

/// A program's callback.
pub type MessageCallback = extern "C-unwind" fn(&acldumpChunk, i32) -> i32;

/// The callback, and the number of its registration.
static CALLBACK: Shared<Option<(u64, MessageCallback)>> = Shared::new(None, || CALLBACK.held(|_| {}));

/// Registers a callback. Returns whether there was none.
pub(super) fn register(callback: MessageCallback) -> bool {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let mut registered = CALLBACK.lock();
    if registered.is_some() {
        return false;
    }
    *registered = Some((NEXT.fetch_add(1, Ordering::Relaxed), callback));
    true
}

/// Removes the callback. Returns whether there was one.
pub(super) fn unregister() -> bool {
    CALLBACK.lock().take().is_some()
}

/// Returns the number of the current registration; `None` if there is no callback.
pub(super) fn registration() -> Option<u64> {
    CALLBACK.read().map(|(registration, _)| registration)
}

/// Passes a chunk to the callback, unless its registration has changed. Returns whether the callback received it.
pub(super) fn call_back(registration: u64, chunk: &Chunk) -> bool {
    let registered = *CALLBACK.read();
    let Some((_, callback)) = registered.filter(|(now, _)| *now == registration) else { return false };
    call_program("the dump callback", || callback(chunk.head(), chunk.length()));
    true
}
