//! The thread that does the work of a stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::as_callback;
use super::queue::Queue;
use crate::border::{Failure, codes};
use crate::forks::{count_forks, forks};
use crate::thread_context;

/// Does the work of a stream, in the stream's context, until the stream is closed.
pub(super) fn work(queue: Arc<Queue>, context: usize) {
    count_forks();
    let before = forks();
    thread_context::set(context);
    while let Some(work) = queue.next() {
        let outcome = as_callback(|| catch_unwind(AssertUnwindSafe(work)));
        if forks() != before {
            // The work forked, and this is the child: the stream belongs to the parent, and its lock may be held
            // forever.
            std::mem::forget(queue);
            return;
        }
        let panicked = |_| Err(Failure::new(codes::INTERNAL_ERROR, "EE9999", "opscope failed in the work of a stream"));
        queue.finish(outcome.unwrap_or_else(panicked));
    }
}
