use std::collections::HashMap;

use opscope_trace::MarkerOperation;

use super::RangeTimes;
use super::histogram::Histogram;
use super::spread::Spread;
use crate::Recording;
use crate::recording::MarkerFact;

/// The running sums of the user's ranges, by the numbers of their names.
#[derive(Default)]
pub(super) struct Ranges {
    by_name: HashMap<u32, (Spread, Histogram)>,
}

impl Ranges {
    pub(super) fn add(&mut self, recording: &Recording, marker: &MarkerFact) {
        if marker.operation != MarkerOperation::Mark {
            let nanos = recording.calibration().nanos(marker.span.start, marker.span.end);
            let (spread, histogram) = self.by_name.entry(marker.name).or_default();
            spread.add(nanos);
            histogram.add(nanos);
        }
    }

    /// Returns the table, sorted by time.
    pub(super) fn finish(self, recording: &Recording) -> Vec<RangeTimes> {
        let row = |(name, (spread, histogram)): (u32, (Spread, Histogram))| RangeTimes {
            range: recording.marker_name(name),
            count: spread.count,
            total_ns: spread.total,
            mean_ns: spread.mean(),
            median_ns: histogram.median().clamp(spread.min, spread.max),
        };
        let mut rows: Vec<_> = self.by_name.into_iter().map(row).collect();
        rows.sort_by(|a, b| b.total_ns.total_cmp(&a.total_ns).then_with(|| a.range.cmp(&b.range)));
        rows
    }
}
