use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use opscope_trace::{BufferId, BufferOptions, Bytes, CallbackThread, Policy, TraceError};

use super::aside::Aside;
use super::current::Current;
pub use super::delivery::BufferCallback;
use super::delivery::Delivery;
use super::stored::{CATEGORY, give_up};
use crate::border::{Status, say};
use crate::layout::Handle;

/// A buffer of a session. Clones are handles of the same one.
#[derive(Clone)]
pub struct Buffer {
    pub id: Handle,
    trace: opscope_trace::Buffer,
    current: Arc<Current>,
    damaged: Arc<AtomicBool>,
    aside: Arc<Aside>,
    /// The payload that could not be read, when a flush last looked.
    unreadable: Arc<AtomicU64>,
}

/// A buffer that was destroyed, and may be in its last callbacks.
pub struct Leaving {
    pub id: Handle,
    current: Weak<Current>,
}

/// The environment variable that names a directory. Buffers lie in files there, so that they survive the process.
const FILES: &str = "OPSCOPE_ROCPROFILER_BUFFERS";

/// The smallest size: it has room for the largest record.
const SMALLEST: usize = 4096;

impl Buffer {
    /// Creates a buffer. Records are delivered when it is full, when it is flushed, and at its interval, if it gets one.
    pub fn create(session: Handle, id: Handle, size: usize, callback: BufferCallback) -> Result<Self, Status> {
        let size = Bytes::new(size.max(SMALLEST) as u64);
        let (current, damaged) = (Arc::<Current>::default(), Arc::<AtomicBool>::default());
        let aside = Arc::<Aside>::default();
        let mut delivery =
            Delivery::new(session, id, callback, Arc::clone(&current), Arc::clone(&damaged), Arc::clone(&aside));
        let options = BufferOptions {
            size,
            watermark: size,
            policy: Policy::Lossless,
            interval: None,
            thread: thread().clone(),
            file: file(session, id),
        };
        let trace = opscope_trace::Buffer::create(options, move |batch| delivery.deliver(batch)).map_err(|error| {
            say(format_args!("a buffer cannot be created: {error}"));
            status(&error)
        })?;
        Ok(Self { id, trace, current, damaged, aside, unreadable: Arc::default() })
    }

    /// Returns what records are put in by.
    pub fn trace_id(&self) -> BufferId {
        self.trace.id()
    }

    /// Puts the bytes of a record into the buffer.
    pub fn put(&self, form: u16, bytes: &[u8]) {
        match self.trace.emit_bytes(CATEGORY, form, bytes) {
            Ok(()) => {}
            Err(TraceError::FullInCallback(_)) => self.aside.keep(form, bytes),
            // A buffer that is destroyed takes nothing.
            // SAFETY: the bytes are those of a record that nobody has.
            Err(_) => unsafe { give_up(form, bytes) },
        }
    }

    /// Delivers everything that was put in before. In a callback that it would wait for, the rest is delivered after that.
    pub fn flush(&self) -> Result<(), Status> {
        match self.trace.flush() {
            Ok(()) => {}
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

    /// Sets the milliseconds after which records are delivered by themselves; 0 for never.
    pub fn set_interval(&self, milliseconds: u64) -> Result<(), Status> {
        let interval = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
        self.trace.set_interval(interval).map_err(|error| status(&error))
    }

    /// Returns what its callback is called with.
    pub fn current(&self) -> Arc<Current> {
        Arc::clone(&self.current)
    }

    /// Returns what is left of it for its last callbacks.
    pub fn leaving(&self) -> Leaving {
        Leaving { id: self.id, current: Arc::downgrade(&self.current) }
    }

    /// Delivers what is in the buffer, and destroys it. In its own callback the rest is delivered after that.
    pub fn destroy(&self) {
        // It may be destroyed already.
        let _ = self.trace.destroy();
    }
}

impl Leaving {
    /// Returns what its callback is called with, or `None` while it is not called.
    pub fn current(&self) -> Option<Arc<Current>> {
        self.current.upgrade().filter(|current| current.is_in_callback())
    }

    /// Returns whether there is a callback to come.
    pub fn is_there(&self) -> bool {
        self.current.strong_count() > 0
    }
}

/// The thread that calls the callbacks of all buffers.
fn thread() -> &'static CallbackThread {
    static THREAD: OnceLock<CallbackThread> = OnceLock::new();
    THREAD.get_or_init(|| CallbackThread::create("rocprofiler-v2"))
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
