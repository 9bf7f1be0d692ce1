use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope_sys::{Condvar, Mutex, MutexGuard};

use crate::border::{Data, Failure, codes};
use crate::forks::{count_forks, forks};
use crate::streams::{Latch, Stream, as_callback};

pub type Function = extern "C" fn(data: Data);

/// A callback that its stream has reached.
pub struct Callback {
    pub function: Function,
    pub data: Data,
    pub stream: Arc<Stream>,
    pub latch: Arc<Latch>,
}

impl Callback {
    /// Calls it, unless its stream no longer waits for it. Returns whether the callback forked and this is the child.
    fn run(self) -> bool {
        count_forks();
        let before = forks();
        if self.latch.take() {
            as_callback(|| (self.function)(self.data));
        }
        let has_forked = forks() != before;
        if has_forked {
            // The stream belongs to the parent.
            mem::forget(self);
        } else {
            self.latch.open();
        }
        has_forked
    }

    /// Reports that it will not be called.
    fn give_up(self) {
        let id = self.stream.id();
        let text = format!("a callback of stream {id} was not called: its thread was unsubscribed before");
        self.stream.fail(Failure::new(codes::RT_STREAM_NO_CB_REG, "EE1003", text));
        self.latch.give_up();
    }
}

/// The callbacks that wait for one thread.
#[derive(Default)]
pub struct Reports {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Callback>,
    /// Whether no stream is subscribed any more.
    is_closed: bool,
}

impl Reports {
    /// Adds a callback. If the thread is no longer subscribed, the callback is given up.
    pub fn push(&self, callback: Callback) {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            callback.give_up();
            return;
        }
        state.waiting.push_back(callback);
        self.changed.notify_all();
    }

    /// Waits for callbacks, and calls all that wait. `None` means to wait forever.
    ///
    /// # Errors
    /// Returns an error if no stream is subscribed, or if the time is over.
    pub fn process(&self, limit: Option<Duration>) -> Result<(), Failure> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        while state.waiting.is_empty() {
            if state.is_closed {
                return Err(not_subscribed());
            }
            let Some(deadline) = deadline else {
                state = self.changed.wait(state);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = "no stream came to a callback before the time to wait was over";
                return Err(Failure::new(codes::RT_REPORT_TIMEOUT, "EE1003", text));
            }
            state = self.changed.wait_timeout(state, left);
        }
        let callbacks = mem::take(&mut state.waiting);
        drop(state);
        for callback in callbacks {
            if callback.run() {
                break;
            }
        }
        Ok(())
    }

    /// Gives up the callbacks of a stream. If it was the thread's last stream, gives up all callbacks, including later
    /// ones.
    pub fn give_up(&self, of: &Arc<Stream>, is_last: bool) {
        let mut state = self.lock();
        state.is_closed |= is_last;
        let (dropped, kept) = mem::take(&mut state.waiting)
            .into_iter()
            .partition(|callback| is_last || Arc::ptr_eq(&callback.stream, of));
        state.waiting = kept;
        self.changed.notify_all();
        drop(state);
        let dropped: VecDeque<Callback> = dropped;
        dropped.into_iter().for_each(Callback::give_up);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

pub fn not_subscribed() -> Failure {
    Failure::new(codes::RT_THREAD_SUBSCRIBE, "EE1003", "the thread is not subscribed: call aclrtSubscribeReport first")
}
