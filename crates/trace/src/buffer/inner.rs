use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::chunk::{Geometry, MAX_SIZE, Region};
use crate::ledger::Ledger;
use crate::writer::Writer;
use crate::{Batch, BufferId, BufferOptions, Bytes, CallbackThread, ContextId, Statistics, ThreadId, TraceError};
use crate::{barrier, waits};

pub(crate) type Callback = Box<dyn FnMut(&Batch<'_>) + Send>;

/// A buffer, as all its handles share it.
pub(crate) struct Inner {
    id: BufferId,
    options: BufferOptions,
    /// The longest record.
    longest: usize,
    /// The context that it serves.
    pub(super) context: OnceLock<ContextId>,
    pub(super) state: Mutex<State>,
    /// A callback has made room.
    pub(super) room: Condvar,
    /// A flush is done, or the buffer has ended.
    pub(super) done: Condvar,
    pub(super) callback: Mutex<Option<Callback>>,
}

/// What the buffer's lock protects.
pub(crate) struct State {
    pub(super) ledger: Ledger,
    pub(super) thread: CallbackThread,
    /// It waits in its callback thread's list.
    pub(super) scheduled: bool,
    /// A callback runs.
    pub(super) delivering: bool,
    /// It was destroyed and has delivered everything.
    pub(super) ended: bool,
    /// Threads that wait for room; for a flush.
    pub(super) room_waiters: usize,
    pub(super) done_waiters: usize,
    /// The counts that the books do not hold.
    pub(super) meters: Statistics,
}

impl Inner {
    pub(super) fn create(options: BufferOptions, callback: Callback) -> Result<Arc<Self>, TraceError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let BufferOptions { size, watermark, .. } = options;
        if size.get() == 0 {
            return Err(TraceError::ZeroSize);
        }
        if size.get() > MAX_SIZE {
            return Err(TraceError::SizeTooLarge(size));
        }
        if watermark > size {
            return Err(TraceError::WatermarkAboveSize { watermark, size });
        }
        barrier::prepare();
        let geometry = Geometry::for_size(size.get());
        let region = Region::anonymous(geometry).map_err(|source| TraceError::System { what: "memory", source })?;
        let ledger = Ledger::new(region, watermark.get() as usize, options.policy);
        let state = State {
            ledger,
            thread: options.thread.clone(),
            scheduled: false,
            delivering: false,
            ended: false,
            room_waiters: 0,
            done_waiters: 0,
            meters: Statistics::default(),
        };
        let inner = Arc::new(Self {
            id: BufferId(NEXT.fetch_add(1, Ordering::Relaxed)),
            longest: geometry.share,
            context: OnceLock::new(),
            state: Mutex::new(state),
            room: Condvar::new(),
            done: Condvar::new(),
            callback: Mutex::new(Some(callback)),
            options,
        });
        inner.options.thread.serve(&inner)?;
        Ok(inner)
    }

    pub(crate) fn id(&self) -> BufferId {
        self.id
    }

    pub(super) fn options(&self) -> &BufferOptions {
        &self.options
    }

    pub(crate) fn interval(&self) -> Option<Duration> {
        self.options.interval
    }

    /// The longest record's payload.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The context that it serves; `id` from now on where it served none.
    pub(crate) fn claim(&self, id: ContextId) -> ContextId {
        *self.context.get_or_init(|| id)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // No code that runs under the lock is anyone else's, and a panic of ours leaves books that still can be read.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.lock().ledger.destroyed
    }

    /// A thread emits into the buffer for the first time.
    pub(crate) fn open_desk(&self, thread: ThreadId) -> Arc<Writer> {
        self.lock().ledger.open_desk(thread)
    }

    /// That thread ends.
    pub(crate) fn close_desk(self: &Arc<Self>, writer: &Writer) {
        let mut state = self.lock();
        state.ledger.close_desk(writer.desk());
        self.wake_if_due(state);
    }

    /// When this returns, no thread is writing a record that it began before.
    pub(crate) fn shut_writers_out(&self) {
        let mut state = self.lock();
        state.ledger.shut_all_out();
        if state.room_waiters > 0 {
            self.room.notify_all();
        }
    }

    pub(super) fn statistics(self: &Arc<Self>) -> Statistics {
        let mut state = self.lock();
        let mut statistics = state.meters.clone();
        state.ledger.count_into(&mut statistics);
        self.wake_if_due(state);
        statistics
    }

    pub(super) fn flush(self: &Arc<Self>, timeout: Option<Duration>) -> Result<(), TraceError> {
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        if state.ledger.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        let _wait = waits::begin(&state.thread).ok_or(TraceError::Busy(self.id))?;
        let ticket = state.ledger.ask_for_flush(true);
        state = self.schedule(state);
        while state.ledger.flushes.done < ticket && !state.ended {
            state.done_waiters += 1;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match left {
                Some(left) => self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.done_waiters -= 1;
            if left == Some(Duration::ZERO) && state.ledger.flushes.done < ticket {
                return Err(TraceError::TimedOut(self.id));
            }
        }
        Ok(())
    }

    /// Asks for what is there to be delivered, and does not wait for it.
    pub(crate) fn flush_later(self: &Arc<Self>) {
        let mut state = self.lock();
        state.ledger.ask_for_flush(false);
        drop(self.schedule(state));
    }

    pub(super) fn assign(self: &Arc<Self>, thread: &CallbackThread) -> Result<(), TraceError> {
        let mut state = self.lock();
        if state.ledger.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        let before = std::mem::replace(&mut state.thread, thread.clone());
        drop(state);
        before.leave(self);
        thread.serve(self)?;
        self.flush_later();
        Ok(())
    }

    pub(crate) fn destroy(self: &Arc<Self>) -> Result<(), TraceError> {
        let mut state = self.lock();
        if state.ledger.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        state.ledger.destroyed = true;
        state.ledger.shut_all_out();
        state.ledger.ask_for_flush(true);
        self.room.notify_all();
        let wait = waits::begin(&state.thread);
        state = self.schedule(state);
        while wait.is_some() && !state.ended {
            state.done_waiters += 1;
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.done_waiters -= 1;
        }
        Ok(())
    }

    /// Lets the callback thread look at the buffer.
    pub(super) fn schedule<'a>(self: &'a Arc<Self>, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if !std::mem::replace(&mut state.scheduled, true) {
            state.thread.clone().push(Arc::clone(self));
        }
        state
    }

    /// Lets the callback thread look at the buffer where a callback became due.
    pub(super) fn wake_if_due(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.ledger.take_due() {
            drop(self.schedule(state));
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}

impl Bytes {
    pub(crate) fn add(&mut self, bytes: usize) {
        *self = Bytes::new(self.get() + bytes as u64);
    }
}
