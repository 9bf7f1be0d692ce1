use std::sync::atomic::{AtomicU32, Ordering};

use super::recursion::thread;
use crate::event::{EventKind, EventName, EventSet, Sequence};
use crate::queues::Queues;
use crate::run::Job;

/// Raises the events that the client has subscribed to.
pub(crate) struct Announcer {
    pub queues: Queues<Job>,
    /// The bits of the subscribed [`EventSet`]; 0 while no client is attached.
    subscribed: AtomicU32,
}

impl Announcer {
    pub fn new(queues: Queues<Job>) -> Self {
        Self { queues, subscribed: AtomicU32::new(0) }
    }

    /// Sets the kinds of events that the client has subscribed to; `None` when no client is attached.
    pub fn subscribe(&self, events: Option<EventSet>) {
        self.subscribed.store(events.map_or(0, EventSet::bits), Ordering::Relaxed);
    }

    /// Returns whether the client has subscribed to this kind of event.
    pub fn wants(&self, name: EventName) -> bool {
        EventSet::from_bits(self.subscribed.load(Ordering::Relaxed)).contains(name)
    }

    /// Raises a sync event if the client has subscribed to it. The calling thread then has to wait for the
    /// acknowledgement.
    pub fn announce(&self, kind: EventKind) -> Option<Sequence> {
        let wanted = self.wants(kind.name());
        wanted.then(|| self.queues.announce(None, kind, thread())).flatten()
    }

    /// Raises a sync event, for which no thread waits, if the client has subscribed to it.
    pub fn post(&self, kind: EventKind) {
        if self.wants(kind.name()) {
            self.queues.post(kind);
        }
    }
}
