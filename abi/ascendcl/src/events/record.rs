use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope::clock::Timestamp;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use crate::border::{Failure, codes};
use crate::streams::refuse_in_callback;

/// One record of an event in a stream.
#[derive(Default)]
pub struct Record {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Queued,
    /// The stream has reached the record.
    Reached(Timestamp),
    /// The stream was ended before it reached the record.
    Dropped,
}

impl Record {
    pub fn is_complete(&self) -> bool {
        !matches!(*self.lock(), State::Queued)
    }

    /// Returns when the stream reached the record.
    pub fn time(&self) -> Option<Timestamp> {
        if let State::Reached(time) = *self.lock() { Some(time) } else { None }
    }

    /// Waits until the stream reaches the record. For work of another stream.
    pub fn wait(&self) {
        let mut state = self.lock();
        while matches!(*state, State::Queued) {
            state = self.changed.wait(state);
        }
    }

    /// Waits until the stream reaches the record. For calls of the program.
    ///
    /// # Errors
    /// Returns an error if the time is over, or if a callback would have to wait.
    pub fn synchronize(&self, limit: Option<Duration>) -> Result<(), Failure> {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut state = self.lock();
        while matches!(*state, State::Queued) {
            refuse_in_callback()?;
            let Some(deadline) = deadline else {
                state = self.changed.wait(state);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let text = "the stream did not come to the event before the time to wait was over";
                return Err(Failure::new(codes::RT_EVENT_SYNC_TIMEOUT, "EE1003", text));
            }
            state = self.changed.wait_timeout(state, left);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn complete(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_all();
    }
}

/// The work that completes a record. If it is dropped instead of done, it completes the record, too, so that no stream
/// waits forever.
pub struct Reach(Option<Arc<Record>>);

impl Reach {
    pub fn new(record: Arc<Record>) -> Self {
        Self(Some(record))
    }

    pub fn reached(mut self) {
        if let Some(record) = self.0.take() {
            record.complete(State::Reached(Timestamp::now()));
        }
    }
}

impl Drop for Reach {
    fn drop(&mut self) {
        if let Some(record) = self.0.take() {
            record.complete(State::Dropped);
        }
    }
}
