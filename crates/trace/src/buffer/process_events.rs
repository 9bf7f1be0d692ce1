//! What buffers do at a fork and at the exit of the process.
//!
//! The parent's buffers stay as they are. The child's are empty, in memory, and work; its callback threads start again
//! with the first record.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::delivery::{Worker, WorkerQueue, deadlock, hooks};
use super::emit::thread_writers;
use super::registry::{self, Registry};
use super::shared::Protected;
use super::state::BufferState;
use super::{SharedBuffer, Statistics};
use crate::chunk::{Geometry, Region};
use crate::process::{HeldLocks, Registration};
use crate::record::{name, thread};
use crate::{TraceError, file};

/// How long a process that exits without [`shutdown`](crate::shutdown) waits for its callbacks.
const TIMEOUT_AT_EXIT: Duration = Duration::from_secs(5);

/// How long a fork waits for callbacks of other threads to return. A buffer whose callback did not return is destroyed in
/// the child: the callback's thread is the parent's.
const TIMEOUT_AT_FORK: Duration = Duration::from_millis(100);

static REGISTRATION: Registration = Registration::new(|| Box::new(BufferLocks::take()), deliver_at_exit);

/// Registers the buffers for forks and the exit of the process, once.
pub(crate) fn register() -> Result<(), TraceError> {
    REGISTRATION.ensure()
}

extern "C" fn deliver_at_exit() {
    registry::destroy_all(TIMEOUT_AT_EXIT);
}

/// A lock, and what it is in. Fields are dropped in this order.
struct Held<T: 'static, K> {
    guard: MutexGuard<'static, T>,
    keeper: Arc<K>,
}

/// All locks of this room and of those below it. They are taken from the last field to the first, in the order in which
/// they nest.
struct BufferLocks {
    waits: deadlock::Lock,
    _names: name::Lock,
    files: file::FollowersLock,
    _hooks: hooks::Lock,
    workers: Vec<Held<WorkerQueue, Worker>>,
    buffers: Vec<Held<Protected, SharedBuffer>>,
    _registry: MutexGuard<'static, Registry>,
}

impl BufferLocks {
    fn take() -> Self {
        let deadline = Instant::now() + TIMEOUT_AT_FORK;
        let registry = registry::lock();
        let buffers = registry.buffers().into_iter().map(|keeper| {
            let guard = keeper.lock_between_callbacks(deadline);
            // SAFETY: the guard is dropped before the keeper, which holds the lock in place.
            let guard =
                unsafe { std::mem::transmute::<MutexGuard<'_, Protected>, MutexGuard<'static, Protected>>(guard) };
            Held { guard, keeper }
        });
        let buffers = buffers.collect();
        let workers = registry.workers().into_iter().map(|keeper| {
            let guard = keeper.lock();
            // SAFETY: the guard is dropped before the keeper, which holds the lock in place.
            let guard =
                unsafe { std::mem::transmute::<MutexGuard<'_, WorkerQueue>, MutexGuard<'static, WorkerQueue>>(guard) };
            Held { guard, keeper }
        });
        let workers = workers.collect();
        Self {
            _hooks: hooks::lock(),
            files: file::lock_followers(),
            _names: name::lock(),
            waits: deadlock::lock(),
            workers,
            buffers,
            _registry: registry,
        }
    }
}

impl HeldLocks for BufferLocks {
    fn reset_in_child(mut self: Box<Self>) {
        for Held { guard, keeper } in &mut self.buffers {
            keeper.reset_after_fork(guard);
        }
        for Held { guard, keeper } in &mut self.workers {
            keeper.reset_after_fork(guard);
        }
        // The child has no other thread that waits, and the files are the parent's.
        self.waits.clear();
        self.files.clear();
        drop(self);
        thread::reset_after_fork();
        thread_writers::reset_after_fork();
    }
}

impl SharedBuffer {
    /// Takes the lock at a moment when no other thread is in the callback, or after the deadline at any moment.
    fn lock_between_callbacks(&self, deadline: Instant) -> MutexGuard<'_, Protected> {
        let mut locked = self.lock();
        while locked.delivering && !deadlock::is_this_thread(&locked.callback_thread) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            locked.fork_waiters += 1;
            locked = self.done.wait_timeout(locked, left).unwrap_or_else(PoisonError::into_inner).0;
            locked.fork_waiters -= 1;
        }
        locked
    }

    /// Makes the buffer the child's own: empty, in memory, with its counts at 0. The child has no other thread, so no other
    /// code uses `locked`.
    fn reset_after_fork(&self, locked: &mut Protected) {
        let destroyed = locked.state.is_destroyed() || locked.callback.is_none();
        let Ok(region) = Region::anonymous(Geometry::for_size(self.options().size.get())) else {
            // Without memory the buffer is destroyed: it returns an error for each record.
            locked.state.set_destroyed();
            locked.ended = true;
            return;
        };
        let state = BufferState::new(region, self.options().watermark.get() as usize, self.options().policy);
        let before = std::mem::replace(&mut locked.state, state);
        before.abandon(locked.delivering);
        // A callback of another thread, which the child does not have, will not return.
        if destroyed {
            locked.state.set_destroyed();
        }
        locked.ended = destroyed;
        locked.statistics = Statistics::default();
        (locked.scheduled, locked.delivering) = (false, false);
        (locked.room_waiters, locked.flush_waiters, locked.fork_waiters) = (0, 0, 0);
        locked.forks += 1;
    }
}
