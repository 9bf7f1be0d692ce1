use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::{Reach, Record};
use crate::border::Failure;
use crate::streams::Stream;

/// A mark that can be set in streams again and again; the last one counts.
#[derive(Default)]
pub struct Event {
    record: Mutex<Option<Arc<Record>>>,
    /// How many streams wait for it, or will when they come to it.
    waiting: AtomicUsize,
}

impl Event {
    /// Returns the last mark; `None` if it was never recorded, or was reset.
    pub fn record(&self) -> Option<Arc<Record>> {
        self.last().clone()
    }

    /// Returns whether streams that wait for it have yet to go on.
    pub fn is_waited_for(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }

    /// Sets the mark behind what was queued in a stream so far.
    pub fn record_in(&self, stream: &Arc<Stream>) -> Result<(), Failure> {
        let record = Arc::new(Record::default());
        // Held meanwhile, so that the last mark is the last one also when two threads record.
        let mut last = self.last();
        let reach = Reach::new(Arc::clone(&record));
        stream.run(move || {
            reach.reached();
            Ok(())
        })?;
        *last = Some(record);
        Ok(())
    }

    /// Makes it an event that was never recorded, when a stream comes to this, unless it is recorded again before.
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

    /// Makes a stream wait for the last mark before it does what is queued from now on.
    pub fn wait_in(self: &Arc<Self>, stream: &Arc<Stream>) -> Result<(), Failure> {
        let Some(record) = self.record() else { return Ok(()) };
        let waiting = Waiting::new(Arc::clone(self));
        stream.run(move || {
            record.wait();
            drop(waiting);
            Ok(())
        })
    }

    fn last(&self) -> MutexGuard<'_, Option<Arc<Record>>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream that waits, or will, for as long as this is not dropped.
struct Waiting(Arc<Event>);

impl Waiting {
    fn new(event: Arc<Event>) -> Self {
        event.waiting.fetch_add(1, Ordering::AcqRel);
        Self(event)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}
