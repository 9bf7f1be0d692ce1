use super::BufferState;
use crate::buffer::{KindStatistics, Statistics};
use crate::chunk::{Segment, header_word};
use crate::record::{Bytes, Category};

/// The numbers of records per category and kind. There are few kinds, and mostly the last one is looked up again.
#[derive(Debug, Default)]
pub(super) struct Counts {
    kinds: Vec<((Category, u16), KindStatistics)>,
    last: usize,
}

impl Counts {
    /// Returns counts with memory for more kinds than most buffers have, so that counting allocates nothing.
    pub(super) fn with_spare_memory() -> Self {
        Self { kinds: Vec::with_capacity(16), last: 0 }
    }

    /// Returns the counts of the kind of a segment's records.
    pub(super) fn of(&mut self, segment: Segment) -> &mut KindStatistics {
        let header = segment.header();
        let key = (header.category, header.kind);
        if self.kinds.get(self.last).is_none_or(|kind| kind.0 != key) {
            self.last = self.kinds.iter().position(|kind| kind.0 == key).unwrap_or_else(|| {
                self.kinds.push((key, KindStatistics::default()));
                self.kinds.len() - 1
            });
        }
        &mut self.kinds[self.last].1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns the number of records that were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.1.dropped).sum()
    }

    /// Returns the number of records that were delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.1.delivered).sum()
    }

    /// Adds these counts to others, and clears them.
    pub(super) fn drain_into(&mut self, others: &mut Counts, add: impl Fn(&mut KindStatistics, KindStatistics)) {
        for ((category, kind), counts) in self.kinds.drain(..) {
            add(others.of(Segment(header_word(category, kind, 0))), counts);
        }
    }
}

impl BufferState {
    /// Adds the counts of all records to statistics.
    pub(crate) fn count_into(&mut self, statistics: &mut Statistics) {
        self.enqueue_all();
        self.trim();
        statistics.damaged = Bytes::new(self.damaged);
        for &(kind, counts) in &self.counts.kinds {
            *statistics.kinds.entry(kind).or_default() = counts;
        }
        for (kind, counts) in &self.in_callback.kinds {
            statistics.kinds.entry(*kind).or_default().waiting += counts.waiting;
        }
        let mut chunks = self.chunks.clone();
        for span in &self.pending {
            let chunk = self.region.chunk(span.chunk);
            while let Some(taken) = chunks[span.chunk].cursor.take(&chunk, span.upto, usize::MAX) {
                let header = taken.segment.header();
                statistics.kinds.entry((header.category, header.kind)).or_default().waiting += taken.count as u64;
            }
        }
        for counts in statistics.kinds.values_mut() {
            counts.emitted = counts.delivered + counts.dropped + counts.waiting;
        }
    }
}
