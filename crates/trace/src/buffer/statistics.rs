use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::{Bytes, Category, Kind};

/// The statistics of a buffer. For every kind, `emitted == delivered + dropped + waiting` at any moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Counts per category and kind.
    pub kinds: BTreeMap<(Category, u16), KindStatistics>,
    /// Payload bytes that callbacks received, each record rounded up to 8.
    pub bytes: Bytes,
    /// Payload bytes that could not be delivered, because another program overwrote them in the buffer's file.
    pub damaged: Bytes,
    /// Callbacks that returned or panicked.
    pub callbacks: u64,
    /// Callbacks that panicked. Their batch counts as delivered.
    pub panics: u64,
    /// How often a thread had to wait for space.
    pub stalls: u64,
    /// The longest of those waits.
    pub longest_stall: Duration,
}

/// The counts of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KindStatistics {
    /// Records that were emitted.
    pub emitted: u64,
    /// Records that a callback received.
    pub delivered: u64,
    /// Records that were dropped.
    pub dropped: u64,
    /// Records that wait for a callback, or are in a running one.
    pub waiting: u64,
}

impl Statistics {
    /// Returns the sum over all kinds.
    pub fn total(&self) -> KindStatistics {
        self.kinds.values().fold(KindStatistics::default(), |sum, kind| KindStatistics {
            emitted: sum.emitted + kind.emitted,
            delivered: sum.delivered + kind.delivered,
            dropped: sum.dropped + kind.dropped,
            waiting: sum.waiting + kind.waiting,
        })
    }

    /// Returns the counts of one of opscope's own kinds.
    pub fn kind(&self, kind: Kind) -> KindStatistics {
        self.kinds.get(&(Category::TRACING, kind.as_raw())).copied().unwrap_or_default()
    }
}
