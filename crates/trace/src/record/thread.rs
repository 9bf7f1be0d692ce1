use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Correlation, CorrelationId, ExternalId, ThreadId, TraceError};

thread_local! {
    static THREAD: Cell<ThreadId> = const { Cell::new(ThreadId(0)) };
    static INTERNAL: Cell<CorrelationId> = const { Cell::new(CorrelationId(0)) };
    static EXTERNAL: Cell<ExternalId> = const { Cell::new(ExternalId(0)) };
    static BELOW: RefCell<Vec<ExternalId>> = const { RefCell::new(Vec::new()) };
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Ends what [`correlate`] began when it is dropped.
#[derive(Debug)]
pub struct CorrelationGuard {
    before: CorrelationId,
    /// It belongs to the thread that made it.
    _thread: PhantomData<*const ()>,
}

/// The thread that calls, as the operating system numbers it.
#[inline]
pub fn current_thread() -> ThreadId {
    let known = THREAD.get();
    if known.0 != 0 { known } else { ask_thread() }
}

/// What the records of this thread belong to at the moment.
#[inline]
pub fn current_correlation() -> Correlation {
    Correlation { internal: INTERNAL.get(), external: EXTERNAL.get() }
}

/// Gives what this thread does from here on a correlation id of its own, until the guard is dropped.
pub fn correlate() -> CorrelationGuard {
    CorrelationGuard { before: INTERNAL.replace(new_correlation()), _thread: PhantomData }
}

/// A correlation id that nobody has had in this process.
pub fn new_correlation() -> CorrelationId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CorrelationId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Puts a number of the user's own on this thread's stack: records carry the topmost one.
pub fn push_external(id: ExternalId) {
    BELOW.with_borrow_mut(|below| below.push(EXTERNAL.replace(id)));
}

/// Takes the topmost number back.
///
/// # Errors
/// When the stack is empty.
pub fn pop_external() -> Result<ExternalId, TraceError> {
    let below = BELOW.with_borrow_mut(Vec::pop).ok_or(TraceError::NoExternalId)?;
    Ok(EXTERNAL.replace(below))
}

/// Asks again, in the child of a fork: its thread has another number.
pub(crate) fn begin_anew() {
    THREAD.set(ThreadId(0));
}

/// Counts a range that this thread opens or closes; gives how many were open around it.
pub(crate) fn open_range() -> u32 {
    DEPTH.replace(DEPTH.get() + 1)
}

/// How many ranges of this thread are open.
pub(crate) fn open_ranges() -> u32 {
    DEPTH.get()
}

pub(crate) fn close_range() {
    DEPTH.set(DEPTH.get().saturating_sub(1));
}

#[cold]
fn ask_thread() -> ThreadId {
    let id = ThreadId(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
    THREAD.set(id);
    id
}

impl Drop for CorrelationGuard {
    fn drop(&mut self) {
        INTERNAL.set(self.before);
    }
}
