use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opscope_border::system;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use super::program::{Latch, look_again};
use super::refuse_in_callback;
use crate::border::{Failure, codes};

pub(super) type Work = Box<dyn FnOnce() -> Result<(), Failure> + Send>;

/// The work of a stream, shared by the callers that queue it and the thread that does it.
pub(super) struct Queue {
    /// Whether the stream is ending, and waits only for its remaining work.
    is_ending: AtomicBool,
    state: Mutex<State>,
    /// Notified when there is work, or the queue was closed.
    woken: Condvar,
    /// Notified when work was done, or begins to wait for the program.
    changed: Condvar,
}

struct State {
    waiting: VecDeque<Work>,
    /// How many pieces of work were ever queued.
    submitted: u64,
    /// How many of them were done.
    finished: u64,
    /// The first failure since the last synchronization.
    failure: Option<Failure>,
    /// Whether a failure makes the queue skip the work after it.
    stops_on_failure: bool,
    /// Whether work is being skipped because of a failure.
    is_stopped: bool,
    is_open: bool,
    /// The thread of the program, and the callback, that the current work waits for.
    waits_for: Option<(u64, Arc<Latch>)>,
}

impl State {
    fn fail(&mut self, failure: Failure) {
        self.is_stopped |= self.stops_on_failure;
        self.failure.get_or_insert(failure);
    }
}

impl Queue {
    pub fn new() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            submitted: 0,
            finished: 0,
            failure: None,
            stops_on_failure: false,
            is_stopped: false,
            is_open: true,
            waits_for: None,
        };
        Self {
            is_ending: AtomicBool::new(false),
            state: Mutex::new(state),
            woken: Condvar::new(),
            changed: Condvar::new(),
        }
    }

    /// Adds work. Returns whether the queue is open.
    pub fn add(&self, work: Work) -> bool {
        let mut state = self.lock();
        if !state.is_open {
            drop(state);
            return false;
        }
        state.waiting.push_back(work);
        state.submitted += 1;
        self.woken.notify_one();
        true
    }

    pub fn is_open(&self) -> bool {
        self.lock().is_open
    }

    /// Waits for work. Work that must be skipped is dropped, and counts as done. Returns `None` once the queue is
    /// closed.
    pub fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                if !state.is_stopped {
                    return Some(work);
                }
                // Dropped work notifies its waiters, so it is dropped outside of the lock.
                drop(state);
                drop(work);
                self.finish(Ok(()));
                state = self.lock();
                continue;
            }
            if !state.is_open {
                return None;
            }
            state = self.woken.wait(state);
        }
    }

    /// Notes that work was done.
    pub fn finish(&self, outcome: Result<(), Failure>) {
        let mut state = self.lock();
        if state.is_open {
            state.finished += 1;
        }
        if let Err(failure) = outcome {
            state.fail(failure);
        }
        self.changed.notify_all();
    }

    /// Waits until the work that was queued so far is done, whether it fails or not. Returns `false` if the time was
    /// over before.
    ///
    /// # Errors
    /// Returns an error if the caller is work of a stream, or a callback, or the thread whose callback the stream waits
    /// for: it would wait for itself.
    pub fn wait(&self, limit: Option<Duration>) -> Result<bool, Failure> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        let until = state.submitted;
        while state.finished < until {
            refuse_in_callback()?;
            // A stream that is ending does not wait long for the program.
            let is_for_this = |(thread, latch): &(u64, Arc<Latch>)| *thread == this_thread() && latch.is_waiting();
            if state.waits_for.as_ref().is_some_and(is_for_this) && !self.is_ending.load(Ordering::Acquire) {
                let text = "the stream waits for a callback that this thread has to run: call aclrtProcessReport first";
                return Err(Failure::new(codes::RT_FEATURE_NOT_SUPPORT, "EE1003", text));
            }
            let Some(deadline) = deadline else {
                state = self.changed.wait(state);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            state = self.changed.wait_timeout(state, left);
        }
        Ok(true)
    }

    /// Returns whether all work is done.
    pub fn is_idle(&self) -> bool {
        let state = self.lock();
        state.finished == state.submitted
    }

    /// Stores a failure, if there is none yet.
    pub fn fail(&self, failure: Failure) {
        self.lock().fail(failure);
    }

    /// Returns the first failure since the last call. A queue that stopped because of it keeps returning it.
    pub fn take_failure(&self) -> Option<Failure> {
        let mut state = self.lock();
        if state.is_stopped { state.failure.clone() } else { state.failure.take() }
    }

    /// Sets whether a failure from now on makes the queue skip the work after it.
    pub fn stop_on_failure(&self, stops: bool) {
        let mut state = self.lock();
        state.stops_on_failure = stops;
        state.is_stopped &= stops;
    }

    /// Waits, as work of this queue, until a thread of the program has run a callback. Returns whether it did.
    pub fn wait_for_program(&self, thread: u64, latch: &Arc<Latch>) -> bool {
        self.lock().waits_for = Some((thread, Arc::clone(latch)));
        self.changed.notify_all();
        let has_run = latch.wait(&self.is_ending);
        self.lock().waits_for = None;
        has_run
    }

    /// From now on, gives up callbacks that no thread takes within a second.
    pub fn begin_to_end(&self) {
        self.is_ending.store(true, Ordering::Release);
        look_again();
    }

    /// Accepts no more work, and drops what waits.
    pub fn close(&self) {
        let mut state = self.lock();
        state.is_open = false;
        state.finished = state.submitted;
        let dropped = std::mem::take(&mut state.waiting);
        drop(state);
        self.woken.notify_all();
        self.changed.notify_all();
        // Dropped work notifies its waiters, so it is dropped outside of the lock.
        drop(dropped);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// Returns the calling thread's identifier, as the program passes it: that of pthread_self().
fn this_thread() -> u64 {
    system::thread_handle()
}
