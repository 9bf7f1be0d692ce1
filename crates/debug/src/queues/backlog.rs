use std::collections::VecDeque;

use crate::event::{Event, EventName};

/// The async events that wait to be read: at most the capacity plus one event of each kind.
#[derive(Default)]
pub(super) struct Backlog {
    events: VecDeque<Event>,
    /// How many events were added and taken so far.
    pushed: u64,
    taken: u64,
    /// The number of the last event of each kind, counted like `pushed`.
    last: [Option<u64>; EventName::ALL.len()],
}

impl Backlog {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Adds an event. If there is no space, coalesces it into the last one of its kind. Returns whether it was added as
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
