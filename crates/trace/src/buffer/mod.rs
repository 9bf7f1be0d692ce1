//! Buffers: where records wait for their callback.
//!
//! How a record passes through this folder. Most records are done after the second step:
//!
//! 1. [`Buffer::emit_bytes`], or `emit` of `context`, finds the thread's writer (`emit::thread_writers`).
//! 2. The writer writes the record into the thread's chunk, without a lock (`state::writer`).
//! 3. If there is more to do than to write, `emit` takes the buffer's lock and appends the record under it
//!    (`state::append`).
//! 4. When a callback is due, the buffer is put on the list of its callback thread (`delivery`), which takes the
//!    next batch (`state::batch`) and calls the callback.
//!
//! Modules, top down; each imports only from those after it: `process_events` (forks and the exit), `registry` (all
//! buffers), `emit`, `delivery`, `shared` (what all handles of a buffer share, behind its lock), `options`,
//! `callback_thread`, `batch` (what a callback receives), `state` (where the records are) and `statistics`.

#[allow(unsafe_code)]
mod batch;
mod callback_thread;
mod delivery;
#[allow(unsafe_code)]
pub(crate) mod emit;
mod options;
#[allow(unsafe_code)]
mod process_events;
mod registry;
mod shared;
#[allow(unsafe_code)]
pub(crate) mod state;
mod statistics;
#[cfg(all(test, not(loom)))]
mod time_tests;

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::TraceError;
use crate::chunk::header_word;
use crate::record::{BufferId, Category, DispatchRecord, PathLevel, Record};
use crate::sync::barrier;
use batch::first_clocks;
pub use batch::{Batch, Records};
use callback_thread::Served;
pub use callback_thread::{CallbackThread, on_callback_thread_creation};
#[cfg(not(loom))]
pub use emit::Reservation;
use emit::thread_writers;
pub use emit::{drop_if_interrupting, interrupts_a_call};
pub use options::BufferOptions;
pub(crate) use process_events::register as register_for_process_events;
pub(crate) use registry::destroy_all;
pub(crate) use shared::SharedBuffer;
pub use statistics::{KindStatistics, Statistics};

/// A buffer, in which records wait for their callback. Clones are handles of the same buffer. It is destroyed with its
/// last handle, or by [`destroy`](Self::destroy).
///
/// *Sizes* count payload, each record rounded up to 8 bytes. For one emitting thread they are exact. With several, a
/// callback may become due later: by at most one chunk's share (a sixteenth of the size, 512 bytes to 31 KiB) for each
/// thread.
///
/// *The order* is kept per thread. Records of a thread also come before those that another thread emits after joining
/// it.
///
/// *A flush is a barrier*: when it returns, all records are delivered that any thread emitted before the call.
///
/// *A fork* leaves the parent as it was. The child's buffer is empty, in memory, and works. It is destroyed if another
/// thread's callback does not return within a second, or if the fork is made in the callback.
#[derive(Debug, Clone)]
pub struct Buffer {
    shared: Arc<SharedBuffer>,
    _handle: Arc<Handle>,
}

/// Destroys the buffer when the last handle is dropped.
#[derive(Debug)]
struct Handle(Arc<SharedBuffer>);

impl Buffer {
    /// Creates a buffer. `callback` is called with its records, by one thread at a time. A panic of the callback is
    /// caught and counted, and the callback is called again for the next batch.
    ///
    /// # Errors
    /// Returns an error if the options contradict each other, or the system refuses memory, a thread or the file.
    pub fn create(
        options: BufferOptions,
        callback: impl FnMut(&Batch<'_>) + Send + 'static,
    ) -> Result<Self, TraceError> {
        options.check()?;
        process_events::register()?;
        barrier::prepare();
        first_clocks();
        let shared = Arc::new(SharedBuffer::new(options, Box::new(callback))?);
        let sleeper: Weak<SharedBuffer> = Arc::downgrade(&shared);
        shared.clock().register(sleeper);
        shared.begin_delivery()?;
        registry::add(&shared);
        Ok(Self { _handle: Arc::new(Handle(Arc::clone(&shared))), shared })
    }

    /// Returns its number within the process.
    pub fn id(&self) -> BufferId {
        self.shared.id()
    }

    /// Returns the options that it was created with.
    pub fn options(&self) -> &BufferOptions {
        self.shared.options()
    }

    /// Emits a record into this buffer, whether or not a context traces its kind.
    ///
    /// # Errors
    /// Returns an error if the record can never fit, the buffer is destroyed, the buffer is full and only this thread
    /// could free space, or the caller is a signal handler that [interrupted a call](crate::interrupts_a_call). If the
    /// [policy](BufferOptions::policy) drops a record, that is counted and not an error.
    #[inline]
    pub fn emit<R: Record>(&self, record: &R) -> Result<(), TraceError> {
        self.emit_bytes(Category::TRACING, R::KIND.as_raw(), record.as_bytes())
    }

    /// Emits a dispatch in the body of an operator: its path follows the record in the payload. It copies the record
    /// once more than [`emit`](Self::emit), so use it only if the path is not empty.
    ///
    /// # Errors
    /// As [`emit`](Self::emit). A path may be too long for the buffer.
    pub fn emit_with_path(
        &self,
        record: &DispatchRecord,
        path: impl ExactSizeIterator<Item = PathLevel>,
    ) -> Result<(), TraceError> {
        record.with_payload(path, |payload| self.emit_bytes(Category::TRACING, DispatchRecord::KIND.as_raw(), payload))
    }

    /// Emits a record of any kind by its bytes: 1 byte to a chunk's share.
    ///
    /// # Errors
    /// As [`emit`](Self::emit).
    #[inline]
    pub fn emit_bytes(&self, category: Category, kind: u16, payload: &[u8]) -> Result<(), TraceError> {
        if emit_by_id(self.id(), category, kind, payload) {
            return Ok(());
        }
        self.shared.check_length(payload.len())?;
        if drop_if_interrupting(self.id(), category, kind) {
            return Err(TraceError::Interrupted);
        }
        self.shared.emit(None, header_word(category, kind, payload.len()), payload)
    }

    /// Begins a record of this length.
    ///
    /// # Errors
    /// Returns an error if a record of this length can never fit, the buffer is destroyed, or the caller is a signal
    /// handler that [interrupted a call](crate::interrupts_a_call).
    #[cfg(not(loom))]
    pub fn reserve(&self, category: Category, kind: u16, length: usize) -> Result<Reservation<'_>, TraceError> {
        self.shared.begin_reservation(category, kind, length)
    }

    /// Delivers everything that was emitted before, and returns when it is delivered. The callback is not called for an
    /// empty buffer. A buffer that [`Policy::Discard`](crate::Policy::Discard) closed is reopened.
    ///
    /// # Errors
    /// Returns [`TraceError::Busy`] if it would wait for the callback that it is called from, or another error if the
    /// buffer is destroyed.
    pub fn flush(&self) -> Result<(), TraceError> {
        self.shared.flush(None)
    }

    /// As [`flush`](Self::flush), but waits at most this long.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), and [`TraceError::TimedOut`] after this time. The delivery continues in that case.
    pub fn flush_within(&self, timeout: Duration) -> Result<(), TraceError> {
        self.shared.flush(Some(timeout))
    }

    /// Requests the delivery of everything that was emitted before, without waiting for it. Unlike
    /// [`flush`](Self::flush), it can be called from the buffer's own callback.
    pub fn request_flush(&self) {
        Arc::clone(&self.shared).flush_later();
    }

    /// As [`request_flush`](Self::request_flush), but the callback is called even if there is nothing to deliver: with
    /// an empty batch. A flush and the buffer's end wait for that callback. It is meant for a callback that keeps
    /// records of its own, see [`TraceError::FullInCallback`].
    ///
    /// # Errors
    /// Returns an error if the buffer is destroyed.
    pub fn request_callback(&self) -> Result<(), TraceError> {
        self.shared.request_callback()
    }

    /// Changes the interval after which records below the watermark are delivered, too; with `None` they wait. It is
    /// first set by the [options](BufferOptions::interval). Setting the same interval again has no effect.
    ///
    /// # Errors
    /// Returns an error if the interval is 0, or the callback thread cannot be started.
    pub fn set_interval(&self, interval: Option<Duration>) -> Result<(), TraceError> {
        if interval == Some(Duration::ZERO) {
            return Err(TraceError::ZeroInterval);
        }
        self.shared.set_interval(interval)
    }

    /// Returns the statistics so far.
    pub fn statistics(&self) -> Statistics {
        let mut locked = self.shared.lock();
        let mut statistics = locked.statistics.clone();
        locked.state.count_into(&mut statistics);
        self.shared.schedule_if_due(locked);
        statistics
    }

    /// Moves the buffer to another callback thread, from the next batch on.
    ///
    /// # Errors
    /// Returns an error if that thread cannot be started, or the buffer is destroyed.
    pub fn assign(&self, thread: &CallbackThread) -> Result<(), TraceError> {
        self.shared.assign(thread)
    }

    /// Destroys the buffer, and returns when everything is delivered. If it would wait for the callback that it is
    /// called from, it returns at once, and the rest is delivered after that callback.
    ///
    /// # Errors
    /// Returns an error if it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        self.shared.destroy()
    }

    pub(crate) fn shared(&self) -> &Arc<SharedBuffer> {
        &self.shared
    }
}

/// Emits a record into the buffer with this number, if the calling thread has emitted into it lately and the record
/// only has to be written. Returns whether it did. If not, emit through the [`Buffer`].
///
/// A caller that has only the number, such as one in another language, need not find the buffer first.
#[inline]
pub fn emit_by_id(buffer: BufferId, category: Category, kind: u16, payload: &[u8]) -> bool {
    let header = header_word(category, kind, payload.len());
    !payload.is_empty() && thread_writers::append_by_buffer(buffer, header, payload)
}

impl Drop for Handle {
    fn drop(&mut self) {
        // An error means that the buffer is destroyed already.
        let _ = self.0.destroy();
    }
}
