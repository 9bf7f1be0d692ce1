use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use opscope_debug::{ModelId, Sequence};

use super::event::{Event, Generation};
use super::stops::{Cause, Stop};
use crate::layout::numbers::{Kind, QueueType};

/// The events that wait for the client, and the threads of the program that wait for the client.
#[derive(Default)]
pub struct Queues {
    sync: VecDeque<Queued>,
    asynchronous: VecDeque<Queued>,
    held: BTreeMap<Sequence, Held>,
    /// How many events were queued so far, in both queues.
    queued: u64,
}

struct Queued {
    event: Event,
    /// Its number among the events of both queues. Clients before 5.0 take the events of both in this order.
    number: u64,
    /// The program's event at which a thread waits for the acknowledgement, if any.
    holder: Option<Sequence>,
}

/// A thread of the program that waits at one of the program's events. Such an event becomes any number of events for
/// the client. They are queued one after another: each is queued when the previous one was acknowledged.
pub struct Held {
    rest: VecDeque<Event>,
    current: Option<Current>,
    /// The stop, if the thread waits at an operator.
    pub stop: Option<Stop>,
    /// When the lease of the event began, or was last renewed.
    pub since: Instant,
}

/// The event for the client whose acknowledgement the thread waits for.
struct Current {
    kind: Kind,
    is_read: bool,
}

/// How many asynchronous events are kept. Older ones are dropped, because a client need not read that queue.
const MOST_ASYNCHRONOUS: usize = 16_384;

impl Queues {
    /// Queues an event at which no thread waits.
    pub fn push(&mut self, event: Event) {
        match event.queue() {
            QueueType::Sync => self.push_sync(event, None),
            QueueType::Async => {
                if self.asynchronous.len() >= MOST_ASYNCHRONOUS {
                    self.asynchronous.pop_front();
                }
                let number = self.next_number();
                self.asynchronous.push_back(Queued { event, number, holder: None });
            }
        }
    }

    fn push_sync(&mut self, event: Event, holder: Option<Sequence>) {
        let number = self.next_number();
        self.sync.push_back(Queued { event, number, holder });
    }

    fn next_number(&mut self) -> u64 {
        self.queued += 1;
        self.queued
    }

    /// Adds a thread that waits until these events are acknowledged. If it is stopped at an operator, it may wait
    /// longer. Returns whether an event was queued.
    pub fn hold(&mut self, sequence: Sequence, events: Vec<Event>, stop: Option<Stop>) -> bool {
        let held = Held { rest: events.into(), current: None, stop, since: Instant::now() };
        self.held.insert(sequence, held);
        self.advance(sequence)
    }

    /// Takes the next event that clients of this generation know. Events that they do not know are skipped, as if the
    /// client had acknowledged them. For a generation with one queue, takes the older event of both queues.
    pub fn next(&mut self, queue: QueueType, generation: Generation) -> Option<Event> {
        loop {
            let number = |queue: &VecDeque<Queued>| queue.front().map_or(u64::MAX, |queued| queued.number);
            let is_older = number(&self.asynchronous) < number(&self.sync);
            let queue = if generation.has_one_queue() && is_older { QueueType::Async } else { queue };
            let Queued { event, holder, .. } = match queue {
                QueueType::Sync => self.sync.pop_front()?,
                QueueType::Async => self.asynchronous.pop_front()?,
            };
            let is_known = generation.knows(event.kind());
            if let Some(sequence) = holder {
                self.mark_read(sequence);
                if !is_known {
                    self.advance(sequence);
                }
            }
            if is_known {
                return Some(event);
            }
        }
    }

    /// Discards the events of a kind that were not read, because the client does not want them any more.
    pub fn discard(&mut self, kind: Kind) {
        let queued = std::mem::take(&mut self.sync);
        let (unwanted, kept): (VecDeque<_>, _) = queued.into_iter().partition(|queued| queued.event.kind() == kind);
        self.sync = kept;
        for sequence in unwanted.into_iter().filter_map(|queued| queued.holder) {
            self.advance(sequence);
        }
    }

    /// Acknowledges the events that were read. Returns whether that queued further events.
    pub fn acknowledge(&mut self) -> bool {
        let is_read = |held: &Held| held.current.as_ref().is_some_and(|current| current.is_read);
        let read: Vec<_> = self.held.iter().filter(|(_, held)| is_read(held)).map(|(sequence, _)| *sequence).collect();
        let mut is_queued = false;
        for sequence in read {
            is_queued |= self.advance(sequence);
        }
        is_queued
    }

    /// Removes the threads that can continue, and returns their events. All events of such a thread are acknowledged,
    /// and it is not stopped at an operator of a suspended device.
    pub fn take_free(&mut self, suspended: bool) -> Vec<Sequence> {
        let is_free = |held: &Held| held.is_acknowledged() && !(suspended && held.stop.is_some());
        let free: Vec<_> = self.held.iter().filter(|(_, held)| is_free(held)).map(|(sequence, _)| *sequence).collect();
        free.iter().for_each(|sequence| drop(self.held.remove(sequence)));
        free
    }

    /// Removes a thread that has continued, or is about to. Its events can still be read.
    pub fn remove(&mut self, sequence: Sequence) -> Option<Held> {
        let held = self.held.remove(&sequence)?;
        self.sync.iter_mut().filter(|queued| queued.holder == Some(sequence)).for_each(|queued| queued.holder = None);
        Some(held)
    }

    /// Queues all remaining events, because no thread of the program waits any more.
    pub fn release_all(&mut self) {
        for (_, held) in std::mem::take(&mut self.held) {
            held.rest.into_iter().for_each(|event| self.push_sync(event, None));
        }
        self.sync.iter_mut().for_each(|queued| queued.holder = None);
    }

    /// Returns whether there is an event of a model that was not read yet.
    pub fn has_event_of(&self, model: ModelId) -> bool {
        let rest = self.held.values().flat_map(|held| &held.rest);
        self.sync.iter().map(|queued| &queued.event).chain(rest).any(|event| event.model == model)
    }

    pub fn is_empty(&self) -> bool {
        self.sync.is_empty() && self.asynchronous.is_empty()
    }

    /// Returns whether a thread waits for the client to acknowledge an event.
    pub fn is_awaited(&self) -> bool {
        self.held.values().any(|held| held.current.is_some())
    }

    /// Returns whether an event of a kind waits in the asynchronous queue.
    pub fn has_asynchronous(&self, kind: Kind) -> bool {
        self.asynchronous.iter().any(|queued| queued.event.kind() == kind)
    }

    /// Returns the threads that wait, in the order of their events.
    pub fn held(&self) -> impl Iterator<Item = (Sequence, &Held)> {
        self.held.iter().map(|(sequence, held)| (*sequence, held))
    }

    pub fn held_mut(&mut self) -> impl Iterator<Item = (Sequence, &mut Held)> {
        self.held.iter_mut().map(|(sequence, held)| (*sequence, held))
    }

    fn mark_read(&mut self, sequence: Sequence) {
        if let Some(current) = self.held.get_mut(&sequence).and_then(|held| held.current.as_mut()) {
            current.is_read = true;
        }
    }

    /// Queues the next event of a thread. Returns whether there is one.
    fn advance(&mut self, sequence: Sequence) -> bool {
        let Some(held) = self.held.get_mut(&sequence) else { return false };
        let next = held.rest.pop_front();
        held.current = next.as_ref().map(|event| Current { kind: event.kind(), is_read: false });
        let Some(event) = next else { return false };
        self.push_sync(event, Some(sequence));
        true
    }
}

impl Held {
    /// Returns whether the client has acknowledged all its events.
    pub fn is_acknowledged(&self) -> bool {
        self.current.is_none() && self.rest.is_empty()
    }

    /// Returns whether the thread is at its operator: all its events are acknowledged, or a step has moved it there.
    pub fn is_entered(&self) -> bool {
        self.is_acknowledged() || self.stop.as_ref().is_some_and(|stop| stop.cause == Cause::Step)
    }

    /// Returns the kind of the event that the client must acknowledge, and whether it was read.
    pub fn awaited(&self) -> Option<(Kind, bool)> {
        self.current.as_ref().map(|current| (current.kind, current.is_read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Case;

    #[test]
    fn a_model_has_events_until_the_last_one_was_read() {
        let model = ModelId(3);
        let event = |case| Event { case, model, thread: 1 };
        let mut queues = Queues::default();
        assert!(queues.hold(Sequence(1), vec![event(Case::ContextCreate), event(Case::ContextDestroy)], None));
        for is_left in [true, false] {
            assert!(queues.has_event_of(model) && !queues.has_event_of(ModelId(4)));
            assert!(queues.next(QueueType::Sync, Generation::Cuda60).is_some());
            assert_eq!(queues.acknowledge(), is_left);
        }
        assert!(!queues.has_event_of(model));
    }
}
