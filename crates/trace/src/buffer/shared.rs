use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opscope_clock::{Clock, Sleeper};

use super::state::BufferState;
use super::{Batch, BufferOptions, CallbackThread, Statistics};
use crate::chunk::{Geometry, Region};
use crate::record::{BufferId, ContextId};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::{TraceError, file};

pub(super) type Callback = Box<dyn FnMut(&Batch<'_>) + Send>;

/// The part of a buffer that its handles, the contexts that trace into it, the emitting threads and the callback thread
/// share.
pub(crate) struct SharedBuffer {
    id: BufferId,
    options: BufferOptions,
    /// The bytes of the longest record.
    longest: usize,
    owner: OnceLock<Owner>,
    protected: Mutex<Protected>,
    /// Notified when a callback has freed space.
    pub(super) space: Condvar,
    /// Notified when a flush is done, when a callback for which a fork waits has returned, and when the buffer has
    /// ended.
    pub(super) done: Condvar,
}

/// The context that traces into a buffer.
struct Owner {
    context: ContextId,
    /// Called when the buffer is destroyed.
    on_destroy: fn(BufferId),
}

/// The data that the buffer's lock protects.
pub(crate) struct Protected {
    pub(super) state: BufferState,
    /// The callback; `None` while it runs, and after the end.
    pub(super) callback: Option<Callback>,
    pub(super) callback_thread: CallbackThread,
    /// The interval after which records below the watermark are delivered, too.
    pub(super) interval: Option<Duration>,
    /// Whether the buffer is on its callback thread's list.
    pub(super) scheduled: bool,
    /// Whether a callback is running.
    pub(super) delivering: bool,
    /// Whether the buffer was destroyed and has delivered everything.
    pub(super) ended: bool,
    /// The number of forks between the process that created the buffer and this one.
    pub(super) forks: u64,
    /// The number of threads that wait for space.
    pub(super) space_waiters: usize,
    /// How often waiting threads were notified of free space.
    pub(super) space_notices: u64,
    /// The number of threads that wait for a flush or the end.
    pub(super) flush_waiters: usize,
    /// The number of threads that are about to fork and wait for the callback to return.
    pub(super) fork_waiters: usize,
    /// The counts that `state` does not hold.
    pub(super) statistics: Statistics,
}

impl SharedBuffer {
    pub(super) fn new(options: BufferOptions, callback: Callback) -> Result<Self, TraceError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = BufferId(NEXT.fetch_add(1, Ordering::Relaxed));
        let geometry = Geometry::for_size(options.size.get());
        let region = match &options.file {
            None => Region::anonymous(geometry).map_err(|source| TraceError::System { what: "memory", source })?,
            Some(path) => file::create(path, geometry, id, options.policy)
                .map_err(|source| TraceError::File { path: path.clone(), source })?,
        };
        let protected = Protected {
            state: options.state(region),
            callback: Some(callback),
            callback_thread: options.thread.clone(),
            interval: options.interval,
            scheduled: false,
            delivering: false,
            ended: false,
            forks: 0,
            space_waiters: 0,
            space_notices: 0,
            flush_waiters: 0,
            fork_waiters: 0,
            statistics: Statistics::default(),
        };
        Ok(Self {
            id,
            longest: geometry.share,
            owner: OnceLock::new(),
            protected: Mutex::new(protected),
            space: Condvar::new(),
            done: Condvar::new(),
            options,
        })
    }

    pub(crate) fn id(&self) -> BufferId {
        self.id
    }

    pub(super) fn options(&self) -> &BufferOptions {
        &self.options
    }

    /// Returns the clock by which timeouts and stalls are measured: that of the callback thread with which the buffer
    /// was created.
    pub(super) fn clock(&self) -> &Clock {
        self.options.thread.clock()
    }

    /// Checks whether a record of this length can ever fit.
    pub(super) fn check_length(&self, length: usize) -> Result<(), TraceError> {
        if length == 0 {
            return Err(TraceError::EmptyRecord);
        }
        if length > self.longest {
            return Err(TraceError::RecordTooLarge { length, limit: self.longest, buffer: self.id });
        }
        Ok(())
    }

    /// Makes a context the buffer's owner if it has none, and returns the owner. `on_destroy` is called when the buffer
    /// is destroyed.
    pub(crate) fn claim(&self, context: ContextId, on_destroy: fn(BufferId)) -> ContextId {
        self.owner.get_or_init(|| Owner { context, on_destroy }).context
    }

    /// Notifies the owner that the buffer is destroyed.
    pub(super) fn notify_owner(&self) {
        if let Some(owner) = self.owner.get() {
            (owner.on_destroy)(self.id);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Protected> {
        self.protected.lock()
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.lock().state.is_destroyed()
    }

    /// Forces the next record of every thread to take the lock. When this returns, no thread is writing without it.
    pub(crate) fn lock_writers_out(&self) {
        let mut locked = self.lock();
        locked.state.lock_all_out();
        locked.notify_of_space(&self.space);
    }
}

impl Protected {
    /// Wakes the threads that wait for space.
    pub(super) fn notify_of_space(&mut self, space: &Condvar) {
        if self.space_waiters > 0 {
            self.space_notices += 1;
            space.notify_all();
        }
    }
}

impl Sleeper for SharedBuffer {
    fn wake_up(&self) {
        drop(self.lock());
        self.done.notify_all();
    }
}

impl fmt::Debug for SharedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("id", &self.id).field("options", &self.options).finish_non_exhaustive()
    }
}
