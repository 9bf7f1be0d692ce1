//! Latches for callbacks: a stream waits until a thread of the program has taken a callback and returned from it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opscope::trace::{ForkRoom, HeldLocks};
use opscope_sys::{Condvar, Mutex, MutexGuard};

/// How long a stream that is ending waits for the program's thread to take a callback.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many calls are waiting for all streams to end. The lock also protects the states of all latches.
static ENDING: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// A latch for one callback: the stream waits until a thread of the program has run it.
#[derive(Default)]
pub struct Latch {
    state: Cell<State>,
}

// SAFETY: its state is only read and written under the lock of all latches.
unsafe impl Sync for Latch {}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    /// The callback is running.
    Taken,
    Done,
    /// The stream no longer waits, and the callback must not run.
    GivenUp,
}

impl Latch {
    /// Notes that the callback is about to run. Returns whether it may.
    pub fn take(&self) -> bool {
        let _lock = lock();
        let may_run = self.state.get() == State::Waiting;
        if may_run {
            self.state.set(State::Taken);
        }
        may_run
    }

    /// Returns whether the stream waits for a thread to take the callback.
    pub(super) fn is_waiting(&self) -> bool {
        let _lock = lock();
        self.state.get() == State::Waiting
    }

    /// Notes that the callback has returned.
    pub fn open(&self) {
        self.set(State::Done);
    }

    /// Notes that the callback will not run.
    pub fn give_up(&self) {
        self.set(State::GivenUp);
    }

    fn set(&self, state: State) {
        let _lock = lock();
        self.state.set(state);
        CHANGED.notify_all();
    }

    /// Waits until the callback has returned. While the stream is ending, gives up if no thread takes the callback
    /// within a second. Returns whether the callback has returned.
    pub(super) fn wait(&self, is_stream_ending: &AtomicBool) -> bool {
        let mut ending = lock();
        loop {
            match self.state.get() {
                State::Done => return true,
                State::GivenUp => return false,
                State::Waiting if *ending > 0 || is_stream_ending.load(Ordering::Acquire) => {
                    let (guard, waited) = wait(ending);
                    ending = guard;
                    if waited && self.state.get() == State::Waiting {
                        self.state.set(State::GivenUp);
                    }
                }
                State::Waiting | State::Taken => {
                    ending = CHANGED.wait(ending);
                }
            }
        }
    }
}

/// Waits for a change, for at most a second. Returns whether the time is over.
fn wait(ending: MutexGuard<'static, usize>) -> (MutexGuard<'static, usize>, bool) {
    let start = Instant::now();
    let guard = CHANGED.wait_timeout(ending, PATIENCE);
    (guard, start.elapsed() >= PATIENCE)
}

/// While this lives, callbacks of all streams are given up if no thread takes them within a second.
pub struct Patience(());

impl Patience {
    pub fn limited() -> Self {
        *lock() += 1;
        CHANGED.notify_all();
        Self(())
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        let mut ending = lock();
        // The child of a fork starts again at 0.
        *ending = ending.saturating_sub(1);
    }
}

/// Makes waiting work check again whether its stream is ending.
pub(super) fn look_again() {
    let _lock = lock();
    CHANGED.notify_all();
}

fn lock() -> MutexGuard<'static, usize> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldCount(take_lock())));
    let _ = ROOM.register();
    take_lock()
}

fn take_lock() -> MutexGuard<'static, usize> {
    ENDING.lock()
}

struct HeldCount(MutexGuard<'static, usize>);

impl HeldLocks for HeldCount {
    fn reset_in_child(mut self: Box<Self>) {
        *self.0 = 0;
    }
}
