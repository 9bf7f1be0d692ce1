//! What a thread puts into all of its records: its number, and the ids of the work that it does at the moment.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Correlation, CorrelationId, ExternalId, ThreadId};

thread_local! {
    static THREAD: Cell<ThreadId> = const { Cell::new(ThreadId(0)) };
    static INTERNAL: Cell<CorrelationId> = const { Cell::new(CorrelationId(0)) };
    static EXTERNAL: Cell<ExternalId> = const { Cell::new(ExternalId(0)) };
    /// The external ids below the topmost one.
    static BELOW: RefCell<Vec<ExternalId>> = const { RefCell::new(Vec::new()) };
}

/// Returns the number of the calling thread in the operating system.
#[inline]
pub fn current_thread() -> ThreadId {
    let known = THREAD.get();
    if known.0 != 0 { known } else { query_thread() }
}

/// Returns the ids of the work that the calling thread does at the moment.
#[inline]
pub fn current_correlation() -> Correlation {
    Correlation { internal: INTERNAL.get(), external: EXTERNAL.get() }
}

/// Gives the calling thread another correlation id, and returns the one that it had.
pub(crate) fn replace_correlation(id: CorrelationId) -> CorrelationId {
    INTERNAL.replace(id)
}

/// Returns a correlation id that was not used in this process before.
pub(crate) fn new_correlation() -> CorrelationId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CorrelationId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Pushes an external id onto the calling thread's stack. Records carry the topmost one.
pub fn push_external(id: ExternalId) {
    BELOW.with_borrow_mut(|below| below.push(EXTERNAL.replace(id)));
}

/// Pops the topmost external id off the calling thread's stack and returns it, or `None` if the stack is empty.
pub fn pop_external() -> Option<ExternalId> {
    let below = BELOW.with_borrow_mut(Vec::pop)?;
    Some(EXTERNAL.replace(below))
}

/// Clears the cached number of the calling thread after a fork: the child's thread has another one.
pub(crate) fn reset_after_fork() {
    THREAD.set(ThreadId(0));
}

#[cold]
fn query_thread() -> ThreadId {
    let id = ThreadId(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
    THREAD.set(id);
    id
}
