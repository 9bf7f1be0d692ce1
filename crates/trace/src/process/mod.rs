//! What outlives a buffer: the fork and the end of the process.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use opscope_clock::ClockPair;

use crate::buffer::callback_thread::deadlock as waits;
use crate::buffer::callback_thread::hooks as thread_hooks;
use crate::buffer::callback_thread::{Work, Worker};
use crate::buffer::thread_writers as local;
use crate::buffer::{Inner, State};
use crate::record::{name, thread};
use crate::{BufferId, TraceError, context, file};

/// How long a process that exits without [`shutdown`] waits for its callbacks.
const PATIENCE_AT_EXIT: Duration = Duration::from_secs(5);

/// How long a fork waits for callbacks of other threads to return. The child cannot go on with one that has not: it is in
/// the middle of something, and its thread is the parent's.
const PATIENCE_AT_FORK: Duration = Duration::from_millis(100);

/// Everything that has a thread or a lock of its own.
#[derive(Default)]
struct Registry {
    buffers: Vec<Weak<Inner>>,
    workers: Vec<Weak<Worker>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { buffers: Vec::new(), workers: Vec::new() });

/// Stops every context and destroys every buffer, with what is there delivered, for as long as `patience` lasts. Gives the
/// buffers that were not done then; their callbacks go on.
pub fn shutdown(patience: Duration) -> Vec<BufferId> {
    // A time that is too long to be counted is for ever.
    let deadline = Instant::now().checked_add(patience);
    context::stop_all();
    let buffers: Vec<_> = lock().buffers.iter().filter_map(Weak::upgrade).collect();
    // All begin before the first one is waited for. One that was destroyed already may still have something to deliver.
    buffers.iter().for_each(|buffer| drop(buffer.begin_end()));
    buffers.iter().filter(|buffer| !buffer.await_end(deadline)).map(|buffer| buffer.id()).collect()
}

/// The moment that ticks are counted from, for [`Calibration`](opscope_clock::Calibration): when the first buffer was made.
pub(crate) fn first_clocks() -> ClockPair {
    static FIRST: OnceLock<ClockPair> = OnceLock::new();
    *FIRST.get_or_init(ClockPair::now)
}

/// Registers with the process, once.
pub(crate) fn prepare() -> Result<(), TraceError> {
    first_clocks();
    static REGISTERED: OnceLock<i32> = OnceLock::new();
    let error = *REGISTERED.get_or_init(|| {
        // SAFETY: the handlers are functions without arguments that never unwind: they take locks that nobody holds for long,
        // and what they call catches panics of foreign code. The library is never unloaded while they are registered.
        unsafe {
            match libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) {
                0 => libc::atexit(at_exit),
                error => error,
            }
        }
    });
    if error == 0 {
        return Ok(());
    }
    Err(TraceError::System { what: "to tell of forks and exits", source: std::io::Error::from_raw_os_error(error) })
}

pub(crate) fn register(buffer: &Arc<Inner>) {
    let mut registry = lock();
    registry.buffers.retain(|buffer| buffer.strong_count() > 0);
    registry.buffers.push(Arc::downgrade(buffer));
}

pub(crate) fn register_worker(worker: &Arc<Worker>) {
    let mut registry = lock();
    registry.workers.retain(|worker| worker.strong_count() > 0);
    registry.workers.push(Arc::downgrade(worker));
}

fn lock() -> MutexGuard<'static, Registry> {
    // Nothing panics between two halves of a change.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn at_exit() {
    shutdown(PATIENCE_AT_EXIT);
}

/// A lock that is held from before a fork to after it, with what it is in. Fields are dropped in this order.
struct Held<T: ?Sized + 'static, K> {
    guard: MutexGuard<'static, T>,
    keeper: Arc<K>,
}

/// All locks, so that none is in the middle of a change when the process is copied, in the order in which they nest.
struct AllLocks {
    _waits: MutexGuard<'static, Vec<(u64, u64)>>,
    _names: name::Lock,
    _files: file::Lock,
    _hooks: thread_hooks::Lock,
    workers: Vec<Held<Work, Worker>>,
    buffers: Vec<Held<State, Inner>>,
    _contexts: context::Lock,
    _registry: MutexGuard<'static, Registry>,
}

thread_local! {
    /// Filled before a fork and emptied after it, on the same thread.
    static HELD: RefCell<Option<AllLocks>> = const { RefCell::new(None) };
}

extern "C" fn before_fork() {
    let deadline = Instant::now() + PATIENCE_AT_FORK;
    let registry = lock();
    let contexts = context::lock_for_fork();
    let buffers = registry.buffers.iter().filter_map(Weak::upgrade).map(|keeper| {
        // SAFETY: the guard is dropped before the keeper, which holds the lock in place.
        let guard = unsafe {
            std::mem::transmute::<MutexGuard<'_, State>, MutexGuard<'static, State>>(
                keeper.lock_between_callbacks(deadline),
            )
        };
        Held { guard, keeper }
    });
    let buffers = buffers.collect();
    let workers = registry.workers.iter().filter_map(Weak::upgrade).map(|keeper| {
        let guard = keeper.lock();
        // SAFETY: the guard is dropped before the keeper, which holds the lock in place.
        let guard = unsafe { std::mem::transmute::<MutexGuard<'_, Work>, MutexGuard<'static, Work>>(guard) };
        Held { guard, keeper }
    });
    let workers = workers.collect();
    let all = AllLocks {
        _hooks: thread_hooks::lock(),
        _files: file::lock_for_fork(),
        _names: name::lock(),
        _waits: waits::lock(),
        workers,
        buffers,
        _contexts: contexts,
        _registry: registry,
    };
    // A thread that forks while it ends has nothing to keep them in, and its child only may exec.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(all));
}

extern "C" fn after_fork_in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

extern "C" fn after_fork_in_child() {
    let Ok(Some(mut all)) = HELD.try_with(|held| held.borrow_mut().take()) else { return };
    for Held { guard, keeper } in &mut all.buffers {
        keeper.begin_anew(guard);
    }
    for Held { guard, keeper } in &mut all.workers {
        keeper.begin_anew(guard);
    }
    drop(all);
    waits::begin_anew();
    file::forget_all();
    thread::reset_after_fork();
    local::begin_anew();
}
