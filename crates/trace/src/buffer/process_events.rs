//! Forks and the exit of the process, as buffers handle them.
//!
//! The parent's buffers stay as they are. The child's are empty, in memory, and usable; its callback threads start
//! again with the first record.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::callback_thread::{Worker, WorkerQueue, deadlock, hooks, workers};
use super::emit::{count_dropped_in_handler, thread_writers};
use super::registry;
use super::shared::Protected;
use super::{SharedBuffer, Statistics};
use crate::chunk::{Geometry, Region};
use crate::process::{HeldLocks, Registration};
use crate::record::name;
use crate::sync::MutexGuard;
use crate::sync::inside::{Counter, set_counter};
use crate::{TraceError, file};

/// How long a process that exits without [`shutdown`](crate::shutdown) waits for its callbacks.
pub(super) const TIMEOUT_AT_EXIT: Duration = Duration::from_secs(5);

/// How long a fork waits for callbacks of other threads to return. A buffer whose callback did not return is destroyed
/// in the child: the callback's thread is the parent's.
pub(super) const TIMEOUT_AT_FORK: Duration = Duration::from_secs(1);

static REGISTRATION: Registration = Registration::new(|| Box::new(BufferLocks::take()), deliver_at_exit);

/// Registers the buffers for forks and the exit of the process, once.
pub(crate) fn register() -> Result<(), TraceError> {
    set_counter(Counter::Buffers, count_dropped_in_handler);
    REGISTRATION.ensure()
}

extern "C" fn deliver_at_exit() {
    registry::destroy_all(TIMEOUT_AT_EXIT);
}

/// A held lock, and what the lock is part of. The guard is dropped first.
pub(super) struct HeldLock<T: 'static, K> {
    guard: MutexGuard<'static, T>,
    keeper: Arc<K>,
}

impl<T, K> HeldLock<T, K> {
    fn new(keeper: Arc<K>, lock: impl Fn(&K) -> MutexGuard<'_, T>) -> Self {
        let guard = lock(&keeper);
        // SAFETY: the guard is dropped before the keeper, which keeps the lock in place.
        let guard = unsafe { std::mem::transmute::<MutexGuard<'_, T>, MutexGuard<'static, T>>(guard) };
        Self { guard, keeper }
    }
}

/// All locks of `buffer` and of the modules below it, the innermost first. They are taken from the last field to the
/// first, and released from the first to the last.
struct BufferLocks {
    waits: deadlock::Lock,
    _names: name::Lock,
    files: file::FollowersLock,
    _hooks: hooks::Lock,
    queues: Vec<HeldLock<WorkerQueue, Worker>>,
    _workers: workers::Lock,
    buffers: Vec<HeldLock<Protected, SharedBuffer>>,
    _registry: registry::Lock,
}

impl BufferLocks {
    fn take() -> Self {
        let registry = registry::lock();
        let buffers: Vec<_> = registry.iter().filter_map(Weak::upgrade).map(ForkDeadline::of).collect();
        let buffers = buffers.into_iter().map(ForkDeadline::hold).collect();
        let workers = workers::lock();
        let queues = workers.iter().filter_map(Weak::upgrade);
        let queues = queues.map(|worker| HeldLock::new(worker, Worker::lock)).collect();
        Self {
            _hooks: hooks::lock(),
            files: file::lock_followers(),
            _names: name::lock(),
            waits: deadlock::lock(),
            queues,
            _workers: workers,
            buffers,
            _registry: registry,
        }
    }
}

impl HeldLocks for BufferLocks {
    fn reset_in_child(mut self: Box<Self>) {
        for HeldLock { guard, keeper } in &mut self.buffers {
            keeper.reset_after_fork(guard);
        }
        for HeldLock { guard, keeper } in &mut self.queues {
            keeper.reset_after_fork(guard);
        }
        // No other thread waits in the child, and the files belong to the parent.
        self.waits.clear();
        self.files.clear();
        drop(self);
        thread_writers::reset_after_fork();
    }
}

/// A buffer whose lock a fork takes, and the moment until which the fork waits for its callback.
pub(super) struct ForkDeadline(Arc<SharedBuffer>, Option<Instant>);

impl ForkDeadline {
    pub(super) fn of(buffer: Arc<SharedBuffer>) -> Self {
        let deadline = buffer.clock().after(TIMEOUT_AT_FORK);
        Self(buffer, deadline)
    }

    pub(super) fn hold(self) -> HeldLock<Protected, SharedBuffer> {
        HeldLock::new(self.0, |buffer| buffer.lock_between_callbacks(self.1))
    }
}

impl SharedBuffer {
    /// Takes the lock at a moment when no other thread is in the callback. After the deadline, takes it at any moment.
    fn lock_between_callbacks(&self, deadline: Option<Instant>) -> MutexGuard<'_, Protected> {
        let mut locked = self.lock();
        while locked.delivering && !locked.callback_thread.is_current() {
            if deadline.is_some_and(|deadline| self.clock().has_come(deadline)) {
                break;
            }
            locked.fork_waiters += 1;
            locked = self.done.wait_until(self.clock(), locked, deadline);
            locked.fork_waiters -= 1;
        }
        // Callback threads wait for the fork, which holds the lock until it is done.
        self.done.notify_all();
        locked
    }

    /// Resets the buffer in the child: empty, in memory, with its counts at 0.
    fn reset_after_fork(&self, locked: &mut Protected) {
        let destroyed = locked.state.is_destroyed() || locked.callback.is_none();
        let Ok(region) = Region::anonymous(Geometry::for_size(self.options().size.get())) else {
            // If there is no memory, the buffer is destroyed: it returns an error for each record.
            locked.state.set_destroyed();
            locked.ended = true;
            return;
        };
        let before = std::mem::replace(&mut locked.state, self.options().state(region));
        before.abandon(locked.delivering);
        // A callback that ran on another thread never returns in the child, which does not have that thread.
        if destroyed {
            locked.state.set_destroyed();
        }
        locked.ended = destroyed;
        locked.statistics = Statistics::default();
        (locked.scheduled, locked.delivering) = (false, false);
        (locked.space_waiters, locked.flush_waiters, locked.fork_waiters) = (0, 0, 0);
        locked.forks += 1;
    }
}
