mod options;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

pub use options::{BufferOptions, Policy};

use crate::{Batch, Category, ContextId, Header, Kind, Record, TraceError};

/// Names a buffer within the process. Numbers are never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(crate) u64);

/// Where records wait for their callback. Clones are handles of the same buffer, which is destroyed with the last one or
/// by [`destroy`](Self::destroy).
#[derive(Debug, Clone)]
pub struct Buffer {
    pub(crate) inner: Arc<Inner>,
    _owner: Arc<Owner>,
}

/// What a buffer did so far: `emitted == delivered + dropped + waiting` at any moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Counts per category and kind.
    pub kinds: BTreeMap<(Category, u16), KindStatistics>,
    /// Payload bytes that were delivered.
    pub bytes: u64,
    /// Callbacks that were made.
    pub callbacks: u64,
    /// Callbacks that panicked. Their batch counts as delivered.
    pub panics: u64,
    /// How often a thread had to wait for room.
    pub stalls: u64,
    /// The longest of those waits.
    pub longest_stall: Duration,
}

/// The counts of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindStatistics {
    /// Records that were emitted.
    pub emitted: u64,
    /// Records that a callback got.
    pub delivered: u64,
    /// Records that were dropped.
    pub dropped: u64,
    /// Records that wait for a callback, or are in one that runs.
    pub waiting: u64,
}

pub(crate) struct Inner {
    id: BufferId,
    options: BufferOptions,
    pub(crate) context: OnceLock<ContextId>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct Owner(Arc<Inner>);

type Callback = Box<dyn FnMut(&Batch<'_>) + Send>;

#[derive(Default)]
struct State {
    words: Vec<u64>,
    populated: u64,
    count: u64,
    in_delivery: u64,
    flush: u64,
    flushed: u64,
    closed: bool,
    destroyed: bool,
    finished: bool,
    statistics: Statistics,
    dropped: u64,
    consumer: Option<ThreadId>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer {}", self.0)
    }
}

impl BufferId {
    /// The number.
    pub const fn as_raw(self) -> u64 {
        self.0
    }
}

impl Statistics {
    /// The sum over all kinds.
    pub fn total(&self) -> KindStatistics {
        self.kinds.values().fold(KindStatistics::default(), |sum, kind| KindStatistics {
            emitted: sum.emitted + kind.emitted,
            delivered: sum.delivered + kind.delivered,
            dropped: sum.dropped + kind.dropped,
            waiting: sum.waiting + kind.waiting,
        })
    }

    /// The counts of one of opscope's own kinds.
    pub fn kind(&self, kind: Kind) -> KindStatistics {
        self.kinds.get(&(Category::TRACING, kind.as_raw())).copied().unwrap_or_default()
    }
}

impl Buffer {
    /// Creates a buffer. `callback` is called with what it holds, by one thread at a time.
    ///
    /// # Errors
    /// When the options make no sense, or memory, thread or file cannot be had.
    pub fn create(
        options: BufferOptions,
        callback: impl FnMut(&Batch<'_>) + Send + 'static,
    ) -> Result<Self, TraceError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if options.size.get() == 0 {
            return Err(TraceError::ZeroSize);
        }
        if options.watermark > options.size {
            return Err(TraceError::WatermarkAboveSize { watermark: options.watermark, size: options.size });
        }
        let inner = Arc::new(Inner {
            id: BufferId(NEXT.fetch_add(1, Ordering::Relaxed)),
            options,
            context: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let consumer = Arc::clone(&inner);
        thread::Builder::new()
            .name(inner.options.thread.name.to_string())
            .spawn(move || consumer.deliver(Box::new(callback)))
            .map_err(|source| TraceError::System { what: "a callback thread", source })?;
        Ok(Self { _owner: Arc::new(Owner(Arc::clone(&inner))), inner })
    }

    /// Its name within the process.
    pub fn id(&self) -> BufferId {
        self.inner.id
    }

    /// What it was created with.
    pub fn options(&self) -> &BufferOptions {
        &self.inner.options
    }

    /// Emits a record into this buffer, whether or not a context wants its kind.
    ///
    /// # Errors
    /// When the record can never fit, the buffer is destroyed, or it is full and this is its own callback.
    pub fn emit<R: Record>(&self, record: &R) -> Result<(), TraceError> {
        self.emit_bytes(Category::TRACING, R::KIND.as_raw(), record.as_bytes())
    }

    /// Emits a record of any kind, by its bytes.
    ///
    /// # Errors
    /// As [`emit`](Self::emit).
    pub fn emit_bytes(&self, category: Category, kind: u16, payload: &[u8]) -> Result<(), TraceError> {
        self.inner.emit_bytes(category, kind, payload)
    }

    /// Delivers everything that was emitted before, and returns when it is. Nothing is called back where nothing is
    /// there.
    ///
    /// # Errors
    /// [`TraceError::Busy`] from inside of a callback of its thread; when the buffer is destroyed.
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

    /// Delivers what is there, and ends. From inside of its own callback it ends when that callback returns.
    ///
    /// # Errors
    /// When it is destroyed already.
    pub fn destroy(&self) -> Result<(), TraceError> {
        self.inner.destroy()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A buffer that was destroyed by name is what this would make of it.
        let _ = self.0.destroy();
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.lock().destroyed
    }

    pub(crate) fn emit_bytes(&self, category: Category, kind: u16, payload: &[u8]) -> Result<(), TraceError> {
        let limit = (self.options.size.get().div_ceil(8) * 8).min(32 << 10) as usize;
        if payload.is_empty() {
            return Err(TraceError::EmptyRecord);
        }
        if payload.len() > limit {
            return Err(TraceError::RecordTooLarge { length: payload.len(), limit, buffer: self.id });
        }
        let size = self.options.size.get().div_ceil(8) * 8;
        let units = payload.len().div_ceil(8);
        let mut state = self.lock();
        let started = Instant::now();
        let mut stalled = false;
        while !state.destroyed && state.populated + units as u64 * 8 > size {
            match self.options.policy {
                Policy::Lossless if state.consumer == Some(thread::current().id()) => {
                    return Err(TraceError::FullInCallback(self.id));
                }
                Policy::Lossless => {
                    stalled = true;
                    state.flush += 1;
                    self.changed.notify_all();
                    state = self.wait(state);
                }
                Policy::Discard => {
                    state.closed = true;
                    state.drop_record(category, kind);
                    return Ok(());
                }
                Policy::Overwrite => state.drop_oldest(),
            }
        }
        if state.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        if stalled {
            state.statistics.stalls += 1;
            state.statistics.longest_stall = state.statistics.longest_stall.max(started.elapsed());
        }
        state.push(Header { category, kind, length: payload.len() as u16 }, payload);
        if state.populated >= self.options.watermark.get() {
            state.flush += 1;
            self.changed.notify_all();
        }
        Ok(())
    }

    fn flush(&self, timeout: Option<Duration>) -> Result<(), TraceError> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        if state.consumer == Some(thread::current().id()) {
            return Err(TraceError::Busy(self.id));
        }
        if state.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        state.flush += 1;
        let wanted = state.flush;
        self.changed.notify_all();
        while state.flushed < wanted {
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.wait(state),
                Some(Duration::ZERO) => return Err(TraceError::TimedOut(self.id)),
                Some(left) => self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        state.closed = false;
        Ok(())
    }

    fn statistics(&self) -> Statistics {
        self.lock().statistics.clone()
    }

    pub(crate) fn destroy(&self) -> Result<(), TraceError> {
        let mut state = self.lock();
        if state.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        state.destroyed = true;
        self.changed.notify_all();
        if state.consumer != Some(thread::current().id()) {
            while !state.finished {
                state = self.wait(state);
            }
        }
        Ok(())
    }

    fn deliver(&self, mut callback: Callback) {
        let mut state = self.lock();
        state.consumer = Some(thread::current().id());
        loop {
            let wanted = state.flush;
            if state.count > 0 && (wanted > state.flushed || state.destroyed) {
                let words = std::mem::take(&mut state.words);
                let count = std::mem::take(&mut state.count);
                let bytes = state.populated;
                let dropped = state.dropped;
                state.in_delivery = bytes;
                drop(state);
                let batch = Batch { buffer: self.id, words: &words, count, dropped };
                let panicked = catch_unwind(AssertUnwindSafe(|| callback(&batch))).is_err();
                state = self.lock();
                state.populated -= bytes;
                state.in_delivery = 0;
                state.statistics.callbacks += 1;
                state.statistics.bytes += bytes;
                state.statistics.panics += u64::from(panicked);
                for record in batch.records() {
                    let kind = state.of(record.header().category, record.header().kind);
                    kind.delivered += 1;
                    kind.waiting -= 1;
                }
            }
            state.flushed = state.flushed.max(wanted);
            self.changed.notify_all();
            if state.count > 0 && (state.flush > state.flushed || state.destroyed) {
                continue;
            }
            if state.destroyed {
                state.finished = true;
                return;
            }
            if state.flush > state.flushed {
                continue;
            }
            state = match self.options.interval {
                None => self.wait(state),
                Some(interval) => {
                    let (mut state, waited) =
                        self.changed.wait_timeout(state, interval).unwrap_or_else(PoisonError::into_inner);
                    state.flush += u64::from(waited.timed_out());
                    state
                }
            };
        }
    }
}

impl State {
    fn of(&mut self, category: Category, kind: u16) -> &mut KindStatistics {
        self.statistics.kinds.entry((category, kind)).or_default()
    }

    fn push(&mut self, header: Header, payload: &[u8]) {
        let head = u64::from(header.category.0) | u64::from(header.kind) << 16 | u64::from(header.length) << 32;
        self.words.push(head);
        for piece in payload.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.words.push(u64::from_ne_bytes(word));
        }
        self.populated += payload.len().div_ceil(8) as u64 * 8;
        self.count += 1;
        let kind = self.of(header.category, header.kind);
        kind.emitted += 1;
        kind.waiting += 1;
    }

    fn drop_record(&mut self, category: Category, kind: u16) {
        self.dropped += 1;
        let kind = self.of(category, kind);
        kind.emitted += 1;
        kind.dropped += 1;
    }

    fn drop_oldest(&mut self) {
        let head = self.words[0];
        let units = ((head >> 32) as u16 as usize).div_ceil(8);
        self.words.drain(..=units);
        self.populated -= units as u64 * 8;
        self.count -= 1;
        self.dropped += 1;
        let kind = self.of(Category(head as u8), (head >> 16) as u16);
        kind.dropped += 1;
        kind.waiting -= 1;
    }
}
