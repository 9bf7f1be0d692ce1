#[allow(unsafe_code)]
mod batch;
pub(crate) mod callback_thread;
mod deliver;
mod emit;
mod inner;
mod options;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod reservation;
#[allow(unsafe_code)]
pub(crate) mod state;
mod statistics;
#[allow(unsafe_code)]
pub(crate) mod thread_writers;
#[allow(unsafe_code)]
pub(crate) mod writer;

use std::sync::Arc;
use std::time::Duration;

pub use batch::{Batch, Records};
pub use callback_thread::CallbackThread;
pub use callback_thread::hooks::on_callback_thread_creation;
pub(crate) use inner::{Inner, State};
pub use options::BufferOptions;
#[cfg(not(loom))]
pub use reservation::Reservation;
pub use statistics::{KindStatistics, Statistics};

use crate::chunk::header_word;
use crate::{BufferId, Category, Record, TraceError};
use thread_writers as local;

/// Where records wait for their callback. Clones are handles of the same buffer, which is destroyed with the last one or
/// by [`destroy`](Self::destroy).
///
/// *Sizes* count payload, each record rounded up to 8 bytes. For one emitting thread they are exact; with several, a
/// callback may become due later, by at most a chunk's share (a sixteenth of the size, 512 bytes to 31 KiB) for each.
///
/// *The order* is each thread's own. What a thread emitted comes before what another one emits after joining it.
///
/// *A flush is a barrier*: what any thread emitted before it was called is delivered when it returns.
///
/// *A fork* leaves the parent as it was. The child's buffer is empty, in memory, and works; where another thread's callback
/// does not return for 100 ms, or the fork is made in the callback, it is destroyed.
#[derive(Debug, Clone)]
pub struct Buffer {
    inner: Arc<Inner>,
    _owner: Arc<Owner>,
}

#[derive(Debug)]
struct Owner(Arc<Inner>);

impl Buffer {
    /// Creates a buffer. `callback` is called with what it holds, by one thread at a time. A callback that panics is caught
    /// and counted; the next one comes.
    ///
    /// # Errors
    /// When the options make no sense, or memory, thread or file cannot be had.
    pub fn create(
        options: BufferOptions,
        callback: impl FnMut(&Batch<'_>) + Send + 'static,
    ) -> Result<Self, TraceError> {
        let inner = Inner::create(options, Box::new(callback))?;
        Ok(Self { _owner: Arc::new(Owner(Arc::clone(&inner))), inner })
    }

    /// Its name within the process.
    pub fn id(&self) -> BufferId {
        self.inner.id()
    }

    /// What it was created with.
    pub fn options(&self) -> &BufferOptions {
        self.inner.options()
    }

    /// Emits a record into this buffer, whether or not a context wants its kind.
    ///
    /// # Errors
    /// When the record can never fit, the buffer is destroyed, or it is full and only this thread could make room.
    #[inline]
    pub fn emit<R: Record>(&self, record: &R) -> Result<(), TraceError> {
        self.emit_bytes(Category::TRACING, R::KIND.as_raw(), record.as_bytes())
    }

    /// Emits a record of any kind, by its bytes: 1 byte to a chunk's share.
    ///
    /// # Errors
    /// As [`emit`](Self::emit).
    #[inline]
    pub fn emit_bytes(&self, category: Category, kind: u16, payload: &[u8]) -> Result<(), TraceError> {
        let header = header_word(category, kind, payload.len());
        if local::append_to(self.id(), header, payload) { Ok(()) } else { self.inner.emit(None, header, payload) }
    }

    /// Delivers everything that was emitted before, and returns when it is. Nothing is called back where nothing is
    /// there. Opens a buffer that [`Policy::Discard`] has closed.
    ///
    /// # Errors
    /// [`TraceError::Busy`] where it would wait for the callback that it is called from; when the buffer is destroyed.
    pub fn flush(&self) -> Result<(), TraceError> {
        self.inner.flush(None)
    }

    /// As [`flush`](Self::flush), but waits no longer than this.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), and [`TraceError::TimedOut`]; the delivery goes on then.
    pub fn flush_within(&self, timeout: Duration) -> Result<(), TraceError> {
        self.inner.flush(Some(timeout))
    }

    /// What it did so far.
    pub fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }

    /// Lets another thread call back from the next batch on.
    ///
    /// # Errors
    /// When that thread cannot be started, or the buffer is destroyed.
    pub fn assign(&self, thread: &CallbackThread) -> Result<(), TraceError> {
        self.inner.assign(thread)
    }

    /// Delivers what is there, and ends. Where that would wait for the callback that it is called from, it returns at
    /// once and the end comes when that callback has returned.
    ///
    /// # Errors
    /// When it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        self.inner.destroy()
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A buffer that was destroyed by name is what this would make of it.
        let _ = self.0.destroy();
    }
}
