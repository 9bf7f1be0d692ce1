//! The callback for ROCTx calls, and its calls in progress.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opscope_sys::{Condvar, Mutex, MutexGuard};
use opscope_trace::{Inside, interrupts_a_call};

use crate::layout::{Handle, TracerRecord};
use crate::threads;

/// A tool's callback for the calls of an API.
pub type SyncCallback = extern "C-unwind" fn(TracerRecord, Handle);

/// How deep callbacks may be nested on one thread. Without this limit, a tool whose callback makes such a call again
/// would never return.
const DEEPEST_CALL: usize = 8;

/// How long the end of a session waits for calls of its callback. One of them may itself be waiting for the thread that
/// ends the session.
const PATIENCE: Duration = Duration::from_secs(5);

/// The callback of the active session, and all calls in progress.
pub(super) struct Calls {
    callback: Option<(SyncCallback, Handle)>,
    running: Vec<Running>,
}

/// A call of the callback in progress.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Running {
    session: Handle,
    thread: usize,
}

/// A call of the callback that may be made. The end of its session waits until this is dropped.
pub struct Call {
    pub callback: SyncCallback,
    pub session: Handle,
}

/// Whether a callback is set. Traced calls check this before they take the lock.
static IS_SET: AtomicBool = AtomicBool::new(false);
static CALLS: Mutex<Calls> = Mutex::new(Calls { callback: None, running: Vec::new() });
/// Notified when a callback has returned.
static RETURNED: Condvar = Condvar::new();

pub(super) fn lock() -> MutexGuard<'static, Calls> {
    CALLS.lock()
}

/// Returns whether a callback receives the calls.
#[inline(always)]
pub fn is_set() -> bool {
    IS_SET.load(Ordering::Acquire)
}

/// Sets the callback, and its session.
pub(super) fn set(callback: Option<(SyncCallback, Handle)>) {
    let _inside = Inside::enter();
    let mut calls = lock();
    // Memory is reserved so that a call in a signal handler does not allocate, unless very many are in progress.
    calls.running.reserve(4 * DEEPEST_CALL);
    calls.callback = callback;
    IS_SET.store(callback.is_some(), Ordering::Release);
}

/// Begins a call of the callback. Returns `None` if there is no callback, if the thread is in too many of its calls, or
/// if this is a signal handler that interrupts a call of this library, which may hold the lock.
pub fn begin() -> Option<Call> {
    if interrupts_a_call() {
        return None;
    }
    let _inside = Inside::enter();
    let mut calls = lock();
    let (callback, session) = calls.callback?;
    let thread = threads::identity();
    if calls.running.iter().filter(|running| running.thread == thread).count() >= DEEPEST_CALL {
        return None;
    }
    calls.running.push(Running { session, thread });
    Some(Call { callback, session })
}

impl Drop for Call {
    fn drop(&mut self) {
        let ended = Running { session: self.session, thread: threads::identity() };
        let _inside = Inside::enter();
        let mut calls = lock();
        if let Some(index) = calls.running.iter().position(|running| *running == ended) {
            calls.running.swap_remove(index);
        }
        drop(calls);
        RETURNED.notify_all();
    }
}

/// Waits until the callbacks of a session that has ended have returned, for at most 5 seconds. Inside any callback,
/// returns immediately, because another thread may be waiting for that callback.
pub fn wait_for_end(session: Handle) {
    let _inside = Inside::enter();
    let calls = lock();
    let thread = threads::identity();
    if threads::is_delivering() || calls.running.iter().any(|running| running.thread == thread) {
        return;
    }
    let is_running = |calls: &mut Calls| calls.running.iter().any(|running| running.session == session);
    drop(RETURNED.wait_timeout_while(calls, PATIENCE, is_running));
}

/// Removes the callbacks of the parent's other threads.
pub(super) fn reset_in_child() {
    let this = threads::identity();
    lock().running.retain(|running| running.thread == this);
}
