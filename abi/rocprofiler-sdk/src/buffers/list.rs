use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_trace::{BufferId, Category, TraceError, emit_by_id};

use super::busy::Busy;
use crate::border::Status;
use crate::layout::Handle;
use crate::stored::CATEGORY_OFFSET;

/// A buffer of a tool. It lives as long as the process, so that emitting needs no lock; after it was destroyed it takes no
/// records.
pub struct Buffer {
    pub id: Handle,
    /// The context that it was created with.
    pub context: Handle,
    trace: opscope_trace::Buffer,
    trace_id: BufferId,
    /// How many flushes and callbacks are in progress.
    pub(super) busy: &'static AtomicUsize,
    destroyed: AtomicBool,
}

static BUFFERS: Mutex<Vec<&'static Buffer>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<&'static Buffer>> {
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the buffer with this id, destroyed or not.
pub fn find(id: Handle) -> Result<&'static Buffer, Status> {
    // Their number is small, and this is not called for records.
    lock().iter().copied().find(|buffer| buffer.id == id).ok_or(Status::BufferNotFound)
}

/// Flushes the buffers of these contexts.
pub fn flush_all_of(is_theirs: impl Fn(Handle) -> bool) {
    let buffers: Vec<_> = lock().iter().copied().filter(|buffer| is_theirs(buffer.context)).collect();
    for buffer in buffers {
        // Destroyed buffers have nothing to deliver; a callback that finalizes the tool goes on by itself.
        let _ = buffer.flush();
    }
}

/// Destroys every buffer. Their callbacks are not called afterwards.
pub fn finalize_all() {
    let buffers: Vec<_> = lock().clone();
    for buffer in buffers {
        let _ = buffer.trace.destroy();
    }
}

impl Buffer {
    /// Keeps a new buffer under an id that was not used before.
    pub(super) fn add(
        context: Handle,
        trace: opscope_trace::Buffer,
        busy: &'static AtomicUsize,
        id: Handle,
    ) -> &'static Self {
        let trace_id = trace.id();
        let buffer =
            Box::leak(Box::new(Self { id, context, trace, trace_id, busy, destroyed: AtomicBool::new(false) }));
        lock().push(buffer);
        buffer
    }

    /// Puts a record into the buffer. One that finds no room is counted as dropped, or waits, as the buffer's policy says.
    ///
    /// # Safety
    /// A record has no padding.
    #[inline(always)]
    pub unsafe fn put<R: Copy>(&self, category: u8, kind: u32, record: &R) {
        // SAFETY: as the caller promises.
        let bytes = unsafe { as_bytes(record) };
        if !emit_by_id(self.trace_id, Category(CATEGORY_OFFSET + category), kind as u16, bytes) {
            // A copy, so that only this path takes the record's address. On the path above its values go from registers into
            // the buffer then, and the record need not be in memory before.
            self.put_slowly(category, kind, *record);
        }
    }

    #[cold]
    #[inline(never)]
    fn put_slowly<R: Copy>(&self, category: u8, kind: u32, record: R) {
        // SAFETY: `put` passes a record without padding. What did not fit is counted, and a destroyed buffer takes nothing.
        let _ = self.put_bytes(category, kind as u16, unsafe { as_bytes(&record) });
    }

    /// Puts a record of the tool's own into the buffer.
    pub(super) fn put_bytes(&self, category: u8, kind: u16, bytes: &[u8]) -> Result<(), Status> {
        self.trace.emit_bytes(Category(CATEGORY_OFFSET + category), kind, bytes).map_err(status)
    }

    /// Returns whether it was destroyed.
    pub fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::SeqCst)
    }

    pub(super) fn flush(&self) -> Result<(), Status> {
        let _flushing = Busy::enter(self.busy);
        self.trace.flush().map_err(status)
    }

    pub(super) fn destroy(&self) -> Result<(), Status> {
        if self.busy.load(Ordering::SeqCst) > 0 {
            return Err(Status::BufferBusy);
        }
        self.trace.destroy().map_err(status)?;
        self.destroyed.store(true, Ordering::SeqCst);
        Ok(())
    }

    pub(super) fn assign(&self, thread: &opscope_trace::CallbackThread) -> Result<(), Status> {
        self.trace.assign(thread).map_err(status)
    }
}

/// Returns the bytes of a record.
///
/// # Safety
/// It has no padding.
#[inline(always)]
unsafe fn as_bytes<R>(record: &R) -> &[u8] {
    // SAFETY: the record is as long as its type, and the caller promises that all of its bytes are set.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(record).cast(), size_of::<R>()) }
}

/// The status of what can be wrong with a buffer.
pub(super) fn status(error: TraceError) -> Status {
    match error {
        TraceError::Busy(_) | TraceError::FullInCallback(_) | TraceError::TimedOut(_) => Status::BufferBusy,
        TraceError::BufferDestroyed(_) => Status::BufferNotFound,
        TraceError::System { .. } | TraceError::File { .. } => Status::OutOfResources,
        TraceError::ZeroSize
        | TraceError::SizeTooLarge(_)
        | TraceError::WatermarkAboveSize { .. }
        | TraceError::EmptyRecord
        | TraceError::RecordTooLarge { .. } => Status::InvalidArgument,
        _ => Status::Error,
    }
}
