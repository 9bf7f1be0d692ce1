use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::buffer::callback_thread::deadlock as waits;
use crate::buffer::state::Ledger;
use crate::buffer::writer::Writer;
use crate::chunk::{Geometry, MAX_SIZE, Region};
use crate::process as life;
use crate::sync::barrier;
use crate::{Batch, BufferId, BufferOptions, CallbackThread, ContextId, Statistics, ThreadId, TraceError};
use crate::{context, file};

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
}

/// What the buffer's lock protects.
pub(crate) struct State {
    pub(super) ledger: Ledger,
    /// None while it runs, and after the end.
    pub(super) callback: Option<Callback>,
    /// How many forks lie between this buffer and the process that made it.
    pub(super) forks: u64,
    pub(super) thread: CallbackThread,
    /// It waits in its callback thread's list.
    pub(super) scheduled: bool,
    /// A callback runs.
    pub(super) delivering: bool,
    /// It was destroyed and has delivered everything.
    pub(super) ended: bool,
    /// Threads that wait for room; for a flush; for the callback to return.
    pub(super) room_waiters: usize,
    pub(super) done_waiters: usize,
    pub(super) idle_waiters: usize,
    /// How often those who wait for room were told to look again.
    pub(super) room_made: u64,
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
        if options.interval == Some(Duration::ZERO) {
            return Err(TraceError::ZeroInterval);
        }
        if watermark > size {
            return Err(TraceError::WatermarkAboveSize { watermark, size });
        }
        barrier::prepare();
        life::prepare()?;
        let id = BufferId(NEXT.fetch_add(1, Ordering::Relaxed));
        let geometry = Geometry::for_size(size.get());
        let region = match &options.file {
            None => Region::anonymous(geometry).map_err(|source| TraceError::System { what: "memory", source })?,
            Some(path) => file::create(path, geometry, id, options.policy)
                .map_err(|source| TraceError::File { path: path.clone(), source })?,
        };
        let ledger = Ledger::new(region, watermark.get() as usize, options.policy);
        let state = State {
            ledger,
            callback: Some(callback),
            forks: 0,
            thread: options.thread.clone(),
            scheduled: false,
            delivering: false,
            ended: false,
            room_waiters: 0,
            done_waiters: 0,
            idle_waiters: 0,
            room_made: 0,
            meters: Statistics::default(),
        };
        let inner = Arc::new(Self {
            id,
            longest: geometry.share,
            context: OnceLock::new(),
            state: Mutex::new(state),
            room: Condvar::new(),
            done: Condvar::new(),
            options,
        });
        inner.options.thread.serve(&inner)?;
        life::register(&inner);
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

    /// The lock, at a moment when no other thread is in the callback; after the deadline at any moment.
    pub(crate) fn lock_between_callbacks(&self, deadline: Instant) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        while state.delivering && !waits::is_this(state.thread.number()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state.idle_waiters += 1;
            state = self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.idle_waiters -= 1;
        }
        state
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.lock().ledger.destroyed
    }

    /// A thread emits into the buffer for the first time.
    pub(crate) fn open_desk(&self, thread: ThreadId) -> Arc<Writer> {
        let mut state = self.lock();
        // In the child of a fork the callback thread starts with the first record.
        state.thread.ensure_running();
        state.ledger.open_desk(thread)
    }

    /// That thread ends.
    pub(crate) fn close_desk(self: &Arc<Self>, writer: &Writer) {
        let mut state = self.lock();
        state.ledger.close_desk(writer.desk());
        state.announce_room(&self.room);
        self.wake_if_due(state);
    }

    /// When this returns, no thread is writing a record that it began before.
    pub(crate) fn shut_writers_out(&self) {
        let mut state = self.lock();
        state.ledger.shut_all_out();
        state.announce_room(&self.room);
    }

    pub(super) fn statistics(self: &Arc<Self>) -> Statistics {
        let mut state = self.lock();
        let mut statistics = state.meters.clone();
        state.ledger.count_into(&mut statistics);
        self.wake_if_due(state);
        statistics
    }

    pub(super) fn flush(self: &Arc<Self>, timeout: Option<Duration>) -> Result<(), TraceError> {
        // A time that is too long to be counted is for ever.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        if state.ledger.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        let _wait = waits::begin(&state.thread).ok_or(TraceError::Busy(self.id))?;
        let ticket = state.ledger.ask_for_flush(true);
        self.schedule(state);
        state = self.lock();
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
        self.schedule(state);
    }

    pub(super) fn assign(self: &Arc<Self>, thread: &CallbackThread) -> Result<(), TraceError> {
        // Without the lock, for what is registered for the creation of threads may use the buffer.
        thread.serve(self)?;
        let mut state = self.lock();
        if state.ledger.destroyed {
            drop(state);
            thread.leave(self);
            return Err(TraceError::BufferDestroyed(self.id));
        }
        let before = std::mem::replace(&mut state.thread, thread.clone());
        before.leave(self);
        // What it waited for there it waits for here.
        state.scheduled = false;
        self.schedule(state);
        Ok(())
    }

    pub(crate) fn destroy(self: &Arc<Self>) -> Result<(), TraceError> {
        self.begin_end()?;
        self.await_end(None);
        Ok(())
    }

    /// Takes no more records, and asks for what is there to be delivered.
    pub(crate) fn begin_end(self: &Arc<Self>) -> Result<(), TraceError> {
        let mut state = self.lock();
        if state.ledger.destroyed {
            return Err(TraceError::BufferDestroyed(self.id));
        }
        state.ledger.destroyed = true;
        drop(state);
        // From here on no context asks for records into it.
        context::forget(self.id);
        state = self.lock();
        state.ledger.shut_all_out();
        state.ledger.ask_for_flush(true);
        state.announce_room(&self.room);
        self.schedule(state);
        Ok(())
    }

    /// Waits until everything is delivered; says whether it is. Does not wait where that would never end.
    pub(crate) fn await_end(&self, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        let Some(_wait) = waits::begin(&state.thread) else { return state.ended };
        while !state.ended {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return false;
            }
            state.done_waiters += 1;
            state = match left {
                Some(left) => self.done.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.done_waiters -= 1;
        }
        true
    }

    /// Makes the buffer the child's own, after a fork: empty, in memory, with what it counted forgotten. The child has no
    /// other thread, so `state` is nobody else's.
    pub(crate) fn begin_anew(&self, state: &mut State) {
        state.ledger.abandon();
        let watermark = self.options.watermark.get() as usize;
        let destroyed = state.ledger.destroyed || state.callback.is_none();
        let Ok(region) = Region::anonymous(Geometry::for_size(self.options.size.get())) else {
            // Without memory there is no buffer: it takes no records and says so.
            state.ledger.destroyed = true;
            state.ended = true;
            return;
        };
        state.ledger = Ledger::new(region, watermark, self.options.policy);
        // A callback that ran in another thread at the fork is in the middle of something that nobody will end.
        state.ledger.destroyed = destroyed;
        state.ended = destroyed;
        state.meters = Statistics::default();
        (state.scheduled, state.delivering) = (false, false);
        (state.room_waiters, state.done_waiters, state.idle_waiters) = (0, 0, 0);
        state.forks += 1;
    }

    /// Lets the callback thread look at the buffer. Wakes it when the lock is free again, for it needs that first.
    pub(super) fn schedule(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.scheduled, true) {
            let thread = state.thread.clone();
            drop(state);
            thread.push(Arc::clone(self));
        }
    }

    /// Lets the callback thread look at the buffer where a callback became due.
    pub(super) fn wake_if_due(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        if state.ledger.take_due() {
            self.schedule(state);
        }
    }
}

impl State {
    /// Lets those who wait for room look again.
    pub(super) fn announce_room(&mut self, room: &Condvar) {
        if self.room_waiters > 0 {
            self.room_made += 1;
            room.notify_all();
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}
