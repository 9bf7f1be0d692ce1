use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use opscope_trace::{BufferId, BufferOptions, Bytes, CallbackThread, Policy, TraceError};

use super::aside_records;
pub use super::delivery::BufferCallback;
use super::delivery::Delivery;
use super::stored_records::{CATEGORY, give_up};
use crate::border::{Status, say};
use crate::layout::Handle;
use crate::threads;

/// A buffer of a session. Clones refer to the same buffer.
#[derive(Clone)]
pub struct Buffer {
    pub id: Handle,
    trace: opscope_trace::Buffer,
    damaged: Arc<AtomicBool>,
    /// The amount of payload that could not be read, as of the last flush.
    unreadable: Arc<AtomicU64>,
}

/// The environment variable that names a directory. Buffers are then stored in files there, so that their records
/// survive the process.
const FILES: &str = "OPSCOPE_ROCPROFILER_BUFFERS";

/// The smallest size of a buffer in bytes. The largest record fits into it.
const SMALLEST: usize = 4096;

impl Buffer {
    /// Creates a buffer. Records are delivered when it is full, when it is flushed, and at its interval, if it has one.
    /// It has its own thread, so that its callback may wait for another buffer's callback.
    pub fn create(session: Handle, id: Handle, size: usize, callback: BufferCallback) -> Result<Self, Status> {
        let size = Bytes::new(size.max(SMALLEST) as u64);
        let damaged = Arc::<AtomicBool>::default();
        let mut delivery = Delivery::new(session, id, callback, Arc::clone(&damaged));
        let options = BufferOptions {
            size,
            watermark: size,
            policy: Policy::Lossless,
            interval: None,
            reports_drops: false,
            thread: CallbackThread::create("rocprofiler-v2"),
            file: file(session, id),
        };
        let trace = opscope_trace::Buffer::create(options, move |batch| delivery.deliver(batch)).map_err(|error| {
            say(format_args!("a buffer cannot be created: {error}"));
            status(&error)
        })?;
        Ok(Self { id, trace, damaged, unreadable: Arc::default() })
    }

    /// Returns the id with which records are emitted into it.
    pub fn trace_id(&self) -> BufferId {
        self.trace.id()
    }

    /// Emits the bytes of a record into the buffer.
    pub fn put(&self, form: u16, bytes: &[u8]) {
        let keep_aside = || aside_records::keep(self.trace_id(), form, bytes, || self.trace.request_callback());
        // Records that this thread's callback set aside come first.
        let put = if threads::is_delivering() && aside_records::has_some(self.trace_id()) {
            keep_aside()
        } else {
            match self.trace.emit_bytes(CATEGORY, form, bytes) {
                Err(TraceError::FullInCallback(_)) => keep_aside(),
                other => other,
            }
        };
        // A destroyed buffer takes no records.
        if put.is_err() {
            give_up(form, bytes);
        }
    }

    /// Delivers every record that was emitted before this call. Inside a callback for which this would have to wait,
    /// the rest is delivered after the callback.
    ///
    /// # Errors
    /// Returns `CorruptedSessionBuffer` if records were found to be damaged since the last flush.
    pub fn flush(&self) -> Result<(), Status> {
        match self.trace.flush() {
            // A buffer that was destroyed at the process's exit has delivered everything.
            Ok(()) | Err(TraceError::BufferDestroyed(_)) => {}
            Err(TraceError::Busy(_)) => {
                self.trace.request_flush();
                return Ok(());
            }
            Err(error) => return Err(status(&error)),
        }
        let unreadable = self.trace.statistics().damaged.get();
        let is_new = self.unreadable.swap(unreadable, Ordering::AcqRel) != unreadable;
        if self.damaged.swap(false, Ordering::AcqRel) || is_new { Err(Status::CorruptedSessionBuffer) } else { Ok(()) }
    }

    /// Sets the milliseconds after which records are delivered automatically; 0 means never.
    pub fn set_interval(&self, milliseconds: u64) -> Result<(), Status> {
        let interval = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
        self.trace.set_interval(interval).map_err(|error| status(&error))
    }

    /// Delivers what is in the buffer, and destroys it. In its own callback, the rest is delivered after the callback.
    pub fn destroy(&self) {
        // It may be destroyed already.
        let _ = self.trace.destroy();
    }

    /// Forgets the damage to the parent's records in the child of a fork, whose buffer is empty.
    pub fn reset_in_child(&self) {
        self.damaged.store(false, Ordering::Release);
        self.unreadable.store(0, Ordering::Release);
    }
}

fn file(session: Handle, buffer: Handle) -> Option<PathBuf> {
    let directory = std::env::var_os(FILES).filter(|directory| !directory.is_empty())?;
    let name = format!("{}-{}-{}.records", std::process::id(), session.0, buffer.0);
    Some(PathBuf::from(directory).join(name))
}

fn status(error: &TraceError) -> Status {
    match error {
        TraceError::BufferDestroyed(_) => Status::BufferNotFound,
        TraceError::SizeTooLarge(_) => Status::IncorrectSize,
        TraceError::ZeroInterval => Status::IncorrectFlushInterval,
        _ => Status::Error,
    }
}
