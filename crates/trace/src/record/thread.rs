//! The values that a thread puts into all of its records: its number, and the ids of its current work.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Correlation, CorrelationId, ExternalId, ThreadId};
use crate::sync::Inside;

thread_local! {
    static THREAD: Cell<ThreadId> = const { Cell::new(ThreadId(0)) };
    static INTERNAL: Cell<CorrelationId> = const { Cell::new(CorrelationId(0)) };
    /// The correlation ids below the topmost one.
    static INTERNAL_BELOW: RefCell<Vec<CorrelationId>> = const { RefCell::new(Vec::new()) };
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

/// Returns the ids of the calling thread's current work.
#[inline]
pub fn current_correlation() -> Correlation {
    Correlation { internal: INTERNAL.get(), external: EXTERNAL.get() }
}

/// Pushes a correlation id onto the calling thread's stack. Records carry the topmost one.
pub(crate) fn push_correlation(id: CorrelationId) {
    let _inside = Inside::enter();
    let below = INTERNAL.replace(id);
    // Fails only while the thread is being torn down.
    let _ = INTERNAL_BELOW.try_with(|ids| ids.borrow_mut().push(below));
}

/// Removes a correlation id from the calling thread's stack, wherever it is.
pub(crate) fn remove_correlation(id: CorrelationId) {
    let _inside = Inside::enter();
    let removed = INTERNAL_BELOW.try_with(|ids| {
        let mut ids = ids.borrow_mut();
        if INTERNAL.get() == id {
            INTERNAL.set(ids.pop().unwrap_or_default());
        } else if let Some(index) = ids.iter().rposition(|other| *other == id) {
            ids.remove(index);
        }
    });
    if removed.is_err() {
        INTERNAL.set(CorrelationId(0));
    }
}

/// Returns a correlation id that was not used in this process before.
pub(crate) fn new_correlation() -> CorrelationId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CorrelationId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Pushes an external id onto the calling thread's stack. Records carry the topmost one. While the thread is being torn
/// down, nothing is pushed.
pub fn push_external(id: ExternalId) {
    let _inside = Inside::enter();
    let _ = BELOW.try_with(|below| below.borrow_mut().push(EXTERNAL.replace(id)));
}

/// Pops the topmost external id off the calling thread's stack and returns it, or `None` if the stack is empty.
pub fn pop_external() -> Option<ExternalId> {
    let _inside = Inside::enter();
    let below = BELOW.try_with(|below| below.borrow_mut().pop()).ok()??;
    Some(EXTERNAL.replace(below))
}

/// Clears the cached number of the calling thread after a fork: the child's thread has another one.
pub(crate) fn reset_after_fork() {
    THREAD.set(ThreadId(0));
}

#[cold]
fn query_thread() -> ThreadId {
    let id = ThreadId(opscope_sys::thread_id());
    THREAD.set(id);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_threads_work_are_the_topmost_of_its_two_stacks() {
        // A new thread has empty stacks.
        std::thread::spawn(|| {
            let current = || {
                let Correlation { internal, external } = current_correlation();
                (internal.0, external.0)
            };
            assert_eq!(current(), (0, 0));
            push_correlation(CorrelationId(7));
            push_external(ExternalId(70));
            assert_eq!(current(), (7, 70));
            push_correlation(CorrelationId(8));
            assert_eq!(current(), (8, 70));
            push_external(ExternalId(80));
            remove_correlation(CorrelationId(8));
            assert_eq!(current(), (7, 80));
            assert_eq!(pop_external(), Some(ExternalId(80)));
            assert_eq!(current(), (7, 70));
            remove_correlation(CorrelationId(7));
            assert_eq!((pop_external(), pop_external()), (Some(ExternalId(70)), None));
            assert_eq!(current(), (0, 0));
        })
        .join()
        .expect("all is as expected");
    }
}
