use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_sys::{Mutex, MutexGuard};

use super::record::{Reach, Record};
use crate::border::Failure;
use crate::streams::Stream;

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
