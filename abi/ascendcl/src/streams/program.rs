//! Work that waits until a thread of the program takes a callback and returns from it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opscope::trace::{ForkRoom, HeldLocks};

/// How long a callback waits for the program's thread when its stream is to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many calls wait for all streams to end. It protects the states of all latches, too.
static ENDING: Mutex<usize> = Mutex::new(0);
static CHANGED: Condvar = Condvar::new();

/// What a stream waits for: a callback that a thread of the program runs.
#[derive(Default)]
pub struct Latch {
    state: Cell<State>,
}

// SAFETY: its state is read and written under the lock of all latches only.
unsafe impl Sync for Latch {}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Waiting,
    /// The callback runs.
    Taken,
    Done,
    /// The stream does not wait any more, and the callback must not run.
    GivenUp,
}

impl Latch {
    /// Says that the callback is about to run. Returns whether it may.
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

    /// Says that the callback returned.
    pub fn open(&self) {
        self.set(State::Done);
    }

    /// Says that the callback will not run.
    pub fn give_up(&self) {
        self.set(State::GivenUp);
    }

    fn set(&self, state: State) {
        let _lock = lock();
        self.state.set(state);
        CHANGED.notify_all();
    }

    /// Waits until the callback returned, and returns whether it did. While the stream is ending, it is given up if no thread takes it.
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
                    ending = CHANGED.wait(ending).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// Waits for a change. Returns whether the patience ended.
fn wait(ending: MutexGuard<'static, usize>) -> (MutexGuard<'static, usize>, bool) {
    let (guard, waited) = CHANGED.wait_timeout(ending, PATIENCE).unwrap_or_else(PoisonError::into_inner);
    (guard, waited.timed_out())
}

/// For as long as this lives, callbacks of all streams are given up after a second in which no thread takes them.
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
        // The child of a fork counts anew.
        *ending = ending.saturating_sub(1);
    }
}

/// Makes the work that waits look again whether its stream is ending.
pub(super) fn look_again() {
    let _lock = lock();
    CHANGED.notify_all();
}

fn lock() -> MutexGuard<'static, usize> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(Held(take_lock())));
    let _ = ROOM.register();
    take_lock()
}

fn take_lock() -> MutexGuard<'static, usize> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Held(MutexGuard<'static, usize>);

impl HeldLocks for Held {
    fn reset_in_child(mut self: Box<Self>) {
        *self.0 = 0;
    }
}
