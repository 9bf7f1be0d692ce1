use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use opscope_border::{Last, Unpadded};
use opscope_trace::{BufferId, Category, Mutex, MutexGuard, TraceError, drop_if_interrupting, emit_by_id};

use super::delivery::Busy;
use crate::border::Status;
use crate::layout::Handle;
use crate::stored_records::CATEGORY_OFFSET;

/// A tool's buffer. It lives as long as the process, so that emitting needs no lock.
pub struct Buffer {
    pub id: Handle,
    /// The context that it was created for.
    pub context: Handle,
    trace_id: BufferId,
    /// How many flushes and callbacks are in progress.
    pub(super) busy: &'static AtomicUsize,
    /// Whether the tool that owns it is finalized.
    is_ended: &'static AtomicBool,
    /// The buffer that was created before it; `None` for the first one.
    before: Option<&'static Buffer>,
}

/// The buffer that was created last: the beginning of a chain of all buffers. Unlike the list, a signal handler may
/// walk along it.
static LAST: Last<Buffer> = Last::new();

/// A buffer in the list.
pub(super) struct Listed {
    buffer: &'static Buffer,
    /// The buffer that holds the records; `None` once it is destroyed.
    trace: Option<opscope_trace::Buffer>,
}

static BUFFERS: Mutex<Vec<Listed>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<Listed>> {
    BUFFERS.lock()
}

/// Returns the buffer with this id, unless it is destroyed.
pub fn find(id: Handle) -> Result<&'static Buffer, Status> {
    // There are few of them, and this is not called once per record.
    let locked = lock();
    let found = locked.iter().find(|listed| listed.buffer.id == id && listed.trace.is_some());
    found.map(|listed| listed.buffer).ok_or(Status::BufferNotFound)
}

/// Does the same as [`Buffer::drop_if_interrupting`], for one of the tool's own records, by the buffer's id. Takes no
/// lock.
pub(super) fn drop_by_id_if_interrupting(id: Handle, category: u8, kind: u16) -> bool {
    let mut last = LAST.get();
    while let Some(buffer) = last {
        if buffer.id == id {
            return buffer.drop_if_interrupting(category, u32::from(kind));
        }
        last = buffer.before;
    }
    false
}

/// Flushes the buffers of these contexts.
pub fn flush_all_of(is_theirs: impl Fn(Handle) -> bool) {
    let all: Vec<_> = lock().iter().map(|listed| listed.buffer).collect();
    for buffer in all.into_iter().filter(|buffer| is_theirs(buffer.context)) {
        // Destroyed buffers have nothing to deliver.
        let _ = buffer.flush();
    }
}

/// Ends the callbacks of these contexts' buffers, because their tool is finalized. Calls that were in progress when the
/// contexts were stopped may still emit records; no tool is left to receive them.
pub fn end_all_of(is_theirs: impl Fn(Handle) -> bool + Copy) {
    for listed in lock().iter().filter(|listed| is_theirs(listed.buffer.context)) {
        listed.buffer.is_ended.store(true, Ordering::SeqCst);
    }
    // A callback may be in progress; this waits for it.
    flush_all_of(is_theirs);
}

/// Destroys every buffer. Their callbacks are never called again.
pub fn finalize_all() {
    let all: Vec<_> = lock().iter_mut().filter_map(|listed| listed.trace.take()).collect();
    for trace in all {
        let _ = trace.destroy();
    }
}

impl Buffer {
    /// Adds a new buffer under an id that was not used before.
    pub(super) fn add(
        context: Handle,
        trace: opscope_trace::Buffer,
        busy: &'static AtomicUsize,
        is_ended: &'static AtomicBool,
        id: Handle,
    ) {
        let mut locked = lock();
        let before = LAST.get();
        let buffer: &'static Self =
            Box::leak(Box::new(Self { id, context, trace_id: trace.id(), busy, is_ended, before }));
        LAST.set(Some(buffer));
        locked.push(Listed { buffer, trace: Some(trace) });
    }

    /// Returns the buffer that holds the records.
    fn trace(&self) -> Result<opscope_trace::Buffer, Status> {
        let locked = lock();
        let listed = locked.iter().find(|listed| listed.buffer.id == self.id);
        listed.and_then(|listed| listed.trace.clone()).ok_or(Status::BufferNotFound)
    }

    /// Emits a record into the buffer. If it does not fit, it is dropped and counted, or this waits, as the buffer's
    /// policy says.
    #[inline(always)]
    pub fn put<R: Unpadded>(&self, category: u8, kind: u32, record: &R) {
        if !emit_by_id(self.trace_id, Category(CATEGORY_OFFSET + category), kind as u16, record.as_bytes()) {
            // The record is copied, so that only this path takes its address. On the path above, its values then go
            // from registers straight into the buffer.
            self.put_slowly(category, kind, *record);
        }
    }

    /// In a signal handler that interrupts another call, drops the record that was to go into the buffer, and counts
    /// it. Returns whether it did.
    pub fn drop_if_interrupting(&self, category: u8, kind: u32) -> bool {
        drop_if_interrupting(self.trace_id, Category(CATEGORY_OFFSET + category), kind as u16)
    }

    #[cold]
    #[inline(never)]
    fn put_slowly<R: Unpadded>(&self, category: u8, kind: u32, record: R) {
        // This is checked before the list is locked, because the interrupted call may hold that lock.
        if self.drop_if_interrupting(category, kind) {
            return;
        }
        // A record that does not fit is counted there, and a destroyed buffer takes none.
        let _ = self.put_bytes(category, kind as u16, record.as_bytes());
    }

    /// Emits one of the tool's own records into the buffer.
    pub(super) fn put_bytes(&self, category: u8, kind: u16, bytes: &[u8]) -> Result<(), Status> {
        self.trace()?.emit_bytes(Category(CATEGORY_OFFSET + category), kind, bytes).map_err(status)
    }

    pub(super) fn flush(&self) -> Result<(), Status> {
        let _flushing = Busy::enter(self.busy);
        self.trace()?.flush().map_err(status)
    }

    pub(super) fn destroy(&self) -> Result<(), Status> {
        if self.busy.load(Ordering::SeqCst) > 0 {
            return Err(Status::BufferBusy);
        }
        let trace = {
            let mut locked = lock();
            let listed = locked.iter_mut().find(|listed| listed.buffer.id == self.id);
            listed.and_then(|listed| listed.trace.take()).ok_or(Status::BufferNotFound)?
        };
        trace.destroy().map_err(status)
    }

    pub(super) fn assign(&self, thread: &opscope_trace::CallbackThread) -> Result<(), Status> {
        self.trace()?.assign(thread).map_err(status)
    }
}

/// Returns the status for an error of a buffer.
pub(super) fn status(error: TraceError) -> Status {
    match error {
        TraceError::Busy(_) | TraceError::FullInCallback(_) | TraceError::TimedOut(_) | TraceError::Interrupted => {
            Status::BufferBusy
        }
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
