use std::collections::VecDeque;

use crate::{Event, EventName};

/// The async events that wait to be read. It never holds more than the capacity and one event of each kind.
#[derive(Default)]
pub(super) struct Backlog {
    events: VecDeque<Event>,
    /// How many events were ever put at the end, and taken from the front.
    pushed: u64,
    taken: u64,
    /// The last event of each kind, by its number in the order of `pushed`.
    last: [Option<u64>; EventName::ALL.len()],
}

impl Backlog {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Puts an event at the end, or where there is no room folds it into the last one of its kind. Whether it is there as
    /// an event of its own.
    pub fn push(&mut self, event: Event, capacity: usize) -> bool {
        let last = &mut self.last[event.kind.name() as usize];
        if self.events.len() >= capacity
            && let Some(earlier) = last.filter(|last| *last >= self.taken)
        {
            self.events[(earlier - self.taken) as usize].coalesced += 1;
            return false;
        }
        *last = Some(self.pushed);
        self.pushed += 1;
        self.events.push_back(event);
        true
    }

    /// Takes the first events.
    pub fn take(&mut self, most: usize) -> Vec<Event> {
        let count = self.events.len().min(most);
        self.taken += count as u64;
        self.events.drain(..count).collect()
    }
}
