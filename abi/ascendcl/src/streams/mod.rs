//! Streams: queues of work. Each stream does its work in order, on its own thread.

#[allow(unsafe_code, reason = "all latches have one lock")]
mod program;
mod queue;
mod stream;

use std::cell::Cell;

use crate::border::{Failure, codes};
pub use program::{Latch, Patience};
pub use stream::Stream;

thread_local! {
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Runs code that must not wait for streams. That is the work of a stream, or a callback that a stream may be waiting
/// for.
pub fn as_callback<T>(body: impl FnOnce() -> T) -> T {
    /// Restores the previous value, even if the body panics.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_IN_CALLBACK.set(self.0);
        }
    }
    let _before = Before(IS_IN_CALLBACK.replace(true));
    body()
}

/// Returns an error inside a callback. If the callback waited for a stream, it might wait for itself, or for another
/// callback that waits for it.
pub fn refuse_in_callback() -> Result<(), Failure> {
    if IS_IN_CALLBACK.get() {
        let text = "a callback, or other work of a stream, cannot wait for streams or events: they may wait for it";
        return Err(Failure::new(codes::RT_FEATURE_NOT_SUPPORT, "EE1003", text));
    }
    Ok(())
}
