//! The thread that does the work of a stream.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::as_callback;
use super::queue::Queue;
use crate::border::{Failure, codes};
use crate::current;
use crate::forks::{count_forks, forks};

/// Does the work of a stream until it is closed, in the stream's context.
pub(super) fn work(queue: Arc<Queue>, context: usize) {
    count_forks();
    let before = forks();
    current::set(context);
    while let Some(work) = queue.next() {
        let outcome = as_callback(|| catch_unwind(AssertUnwindSafe(work)));
        if forks() != before {
            // The work forked, and this is the child: the stream is the parent's, and its lock may be held for ever.
            std::mem::forget(queue);
            return;
        }
        let panicked = |_| Err(Failure::new(codes::INTERNAL_ERROR, "EE9999", "opscope failed in the work of a stream"));
        queue.finish(outcome.unwrap_or_else(panicked));
    }
}
