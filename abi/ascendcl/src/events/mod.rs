//! Events: marks in streams. A program or another stream can wait for them, and they have times.

mod calls;

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opscope::clock::Timestamp;
use opscope_sys::{Condvar, Mutex, MutexGuard};

use crate::border::{Failure, codes, given};
use crate::forks::Shared;
use crate::handles::{Handles, Kind};
use crate::streams::{Stream, refuse_in_callback};

/// A mark that can be recorded in streams any number of times. Only the last record counts.
#[derive(Default)]
pub struct Event {
    record: Mutex<Option<Arc<Record>>>,
    /// How many streams wait for it, or have such a wait in their queues.
    waiting: AtomicUsize,
}

impl Event {
    /// Returns the last record; `None` if it was never recorded, or was reset.
    pub fn record(&self) -> Option<Arc<Record>> {
        self.last().clone()
    }

    /// Returns whether a stream still has to wait for it.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Records it in a stream, after the work that was queued so far.
    pub fn record_in(&self, stream: &Arc<Stream>) -> Result<(), Failure> {
        let record = Arc::new(Record::default());
        // The lock is held meanwhile. If two threads record, the stored record is then the one that was queued last.
        let mut last = self.last();
        let reach = Reach::new(Arc::clone(&record));
        stream.run(move || {
            reach.reached();
            Ok(())
        })?;
        *last = Some(record);
        Ok(())
    }

    /// Queues a reset in a stream. It returns the event to the state of one that was never recorded, unless the event
    /// is recorded again before the stream reaches the reset.
    pub fn reset_in(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<(), Failure> {
        let (event, before) = (Arc::clone(self), self.record());
        stream.run(move || {
            let mut last = event.last();
            if last.as_ref().map(Arc::as_ptr) == before.as_ref().map(Arc::as_ptr) {
                *last = None;
            }
            Ok(())
        })
    }

    /// Makes a stream wait for the last record before it does work that is queued from now on.
    pub fn wait_in(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<(), Failure> {
        let Some(record) = self.record() else { return Ok(()) };
        let waiting = WaitingStream::new(Arc::clone(self));
        stream.run(move || {
            record.wait();
            drop(waiting);
            Ok(())
        })
    }

    fn last(&self) -> MutexGuard<'_, Option<Arc<Record>>> {
        self.record.lock()
    }
}

/// Counts a stream that waits, or will wait, for the event. Dropped when the stream has waited.
struct WaitingStream(Arc<Event>);

impl WaitingStream {
    fn new(event: Arc<Event>) -> Self {
        event.waiting.fetch_add(1, Ordering::AcqRel);
        Self(event)
    }
}

impl Drop for WaitingStream {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

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

#[allow(non_camel_case_types)]
pub type aclrtEvent = *mut c_void;

/// The child of a fork has no events, because their streams exist only in the parent.
static EVENTS: Shared<Handles<Event>> = Shared::new(Handles::new(Kind::Event), || EVENTS.held(Handles::forget));

pub fn create() -> usize {
    EVENTS.lock().insert(Arc::new(Event::default()))
}

pub fn event(event: aclrtEvent) -> Result<Arc<Event>, Failure> {
    let number = given(event, "event")?.addr();
    EVENTS.read().get(number).cloned().ok_or_else(|| unknown(number))
}

pub fn take(event: aclrtEvent) -> Result<Arc<Event>, Failure> {
    let number = given(event, "event")?.addr();
    EVENTS.lock().remove(number).ok_or_else(|| unknown(number))
}

fn unknown(number: usize) -> Failure {
    let reason = "it was destroyed, or never created";
    Failure::wrong_value_of(codes::RT_PARAM_INVALID, "event", format!("{number:#x}"), reason)
}
