use crate::chunk::Segment;
use crate::{Category, KindStatistics};

/// Numbers of records per category and kind. There are few kinds, and the one asked for is mostly the last one.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    kinds: Vec<((Category, u16), KindStatistics)>,
    last: usize,
}

impl Counts {
    /// The counts of the kind that a segment's records have.
    pub(crate) fn of(&mut self, segment: Segment) -> &mut KindStatistics {
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

    /// Every record that was dropped.
    pub(crate) fn dropped(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.1.dropped).sum()
    }

    /// Every record that was delivered.
    pub(crate) fn delivered(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.1.delivered).sum()
    }

    /// Adds these counts to others and forgets them.
    pub(crate) fn drain_into(&mut self, others: &mut Counts, add: impl Fn(&mut KindStatistics, KindStatistics)) {
        for ((category, kind), counts) in self.kinds.drain(..) {
            let segment = Segment(crate::chunk::header_word(category, kind, 0));
            add(others.of(segment), counts);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = ((Category, u16), KindStatistics)> {
        self.kinds.iter().copied()
    }
}
