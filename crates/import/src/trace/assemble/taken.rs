//! What the readers handed over, kept for their tests.

use std::collections::BTreeMap;

use super::tracks::TrackOf;
use crate::trace::event::{Event, What};

/// An event with texts of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TakenEvent {
    pub what: What,
    pub name: String,
    pub track: TrackOf,
    pub start: u64,
    pub duration: u64,
    pub correlation: u64,
    pub external: u64,
}

/// Everything that was handed over, in order.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub events: Vec<TakenEvent>,
    pub samples: Vec<(String, String, u64, f64)>,
}

impl Taken {
    pub fn add(&mut self, track: TrackOf, event: &Event<'_>) {
        let &Event { what, name, start, duration, correlation, external, .. } = event;
        let name = name.to_owned();
        self.events.push(TakenEvent { what, name, track, start, duration, correlation, external });
    }

    pub fn sample(&mut self, counter: &str, unit: &str, at: u64, value: f64) {
        self.samples.push((counter.to_owned(), unit.to_owned(), at, value));
    }

    /// Returns the sum of durations and the number of events, by kind and name.
    pub fn sums(&self) -> BTreeMap<(String, String), (u64, u64)> {
        let mut sums = BTreeMap::new();
        for event in &self.events {
            let sum: &mut (u64, u64) = sums.entry((format!("{:?}", event.what), event.name.clone())).or_default();
            *sum = (sum.0 + event.duration, sum.1 + 1);
        }
        sums
    }

    /// Returns the events of a kind.
    pub fn of(&self, what: What) -> Vec<&TakenEvent> {
        self.events.iter().filter(|event| event.what == what).collect()
    }
}
