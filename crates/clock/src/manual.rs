use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use opscope_sys::{Condvar, Mutex, MutexGuard};

/// A clock that stands still until it is advanced: for tests and simulated time. Clones are handles of the same clock.
///
/// A test passes [`Clock::manual`](crate::Clock::manual) to the code under test, and waits until a thread waits for a
/// moment. At that point nothing is due: what has not happened yet would not happen even if the test waited longer.
#[derive(Clone)]
pub struct ManualClock {
    shared: Arc<Shared>,
}

/// Threads that wait for moments of a clock.
pub trait Sleeper: Send + Sync {
    /// Wakes the threads, so that they read the clock again. It must take and release the lock under which they read
    /// it. Otherwise one of them could read the old time and then begin to wait.
    fn wake_up(&self);
}

struct Shared {
    state: Mutex<State>,
    /// Notified when a thread begins to wait.
    changed: Condvar,
}

struct State {
    now: Instant,
    /// The moments that threads wait for, by the numbers of the waits.
    waits: BTreeMap<u64, Instant>,
    /// The number of the next wait.
    next: u64,
    sleepers: Vec<Weak<dyn Sleeper>>,
}

/// The longest real time that a test waits for threads to begin their waits.
const LONGEST: Duration = Duration::from_secs(30);

impl ManualClock {
    /// Creates a clock.
    pub fn create() -> Self {
        let state = State { now: Instant::now(), waits: BTreeMap::new(), next: 0, sleepers: Vec::new() };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    /// Returns its time.
    pub fn now(&self) -> Instant {
        self.lock().now
    }

    /// Advances it, and wakes every thread that waits for a moment. Call it with no lock held.
    pub fn advance(&self, by: Duration) {
        let mut state = self.lock();
        state.now += by;
        state.sleepers.retain(|sleeper| sleeper.strong_count() > 0);
        let sleepers: Vec<_> = state.sleepers.iter().filter_map(Weak::upgrade).collect();
        drop(state);
        sleepers.iter().for_each(|sleeper| sleeper.wake_up());
    }

    /// Waits until exactly this number of threads wait for moments that are all in the future. Everything that was due
    /// on these threads has then happened. A thread that was woken and may begin another wait does not count, so
    /// waiting for 0 threads proves nothing.
    ///
    /// # Panics
    /// If that takes longer than 30 seconds of real time.
    pub fn await_waits(&self, threads: usize) {
        let start = Instant::now();
        let mut state = self.lock();
        while state.waits.len() != threads || state.waits.values().any(|until| *until <= state.now) {
            let left = LONGEST.saturating_sub(start.elapsed());
            assert!(!left.is_zero(), "{threads} threads should wait for moments to come: {:?}", state.left());
            state = self.shared.changed.wait_timeout(state, left);
        }
    }

    /// Begins a wait, and returns its number.
    pub(crate) fn begin_wait(&self, until: Instant) -> u64 {
        let mut state = self.lock();
        let number = state.next;
        state.next += 1;
        state.waits.insert(number, until);
        self.shared.changed.notify_all();
        number
    }

    pub(crate) fn end_wait(&self, number: u64) {
        self.lock().waits.remove(&number);
        self.shared.changed.notify_all();
    }

    pub(crate) fn register(&self, sleeper: Weak<dyn Sleeper>) {
        self.lock().sleepers.push(sleeper);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics in the middle of a change, so the state is consistent.
        self.shared.state.lock()
    }
}

impl State {
    /// Returns the times until the moments for which threads wait.
    fn left(&self) -> Vec<Duration> {
        self.waits.values().map(|until| until.saturating_duration_since(self.now)).collect()
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock").field("waits", &self.lock().left()).finish_non_exhaustive()
    }
}
