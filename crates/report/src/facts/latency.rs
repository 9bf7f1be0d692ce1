//! How long runs took: their distribution, and the course over time.

use opscope_profile::{MedianEstimate, Rank};

/// How long the runs took. It takes memory for a part of the runs, and for a fixed number of buckets.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Latency {
    /// The number of runs.
    pub runs: u64,
    /// Whether the numbers of the runs are those of a recording, rather than their positions among the measured runs.
    pub is_recorded: bool,
    /// The 95 % confidence interval of the median; `None` for too few independent runs.
    pub interval: Option<(f64, f64)>,
    /// The shortest, in nanoseconds.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The 50th percentile. This and the following are exact for a summary, and within 0.3 % for a recording.
    pub median: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// Runs that took longer than this were delayed: three medians, or half more than the 90th percentile.
    pub usual: f64,
    /// The distribution up to the 99.5th percentile, or up to `usual`.
    pub bars: Vec<Bar>,
    /// How many runs took longer than the last bar.
    pub beyond: u64,
    /// The runs in order, merged if there are many.
    pub steps: Vec<Step>,
}

/// How many runs took a time in this range, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    pub from: f64,
    pub to: f64,
    pub runs: u64,
}

/// Consecutive runs. Durations are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    /// The number of the first one.
    pub first: u64,
    /// The number of the last one.
    pub last: u64,
    /// How many runs.
    pub runs: u64,
    pub min: f64,
    pub median: f64,
    pub max: f64,
}

/// How many bars a distribution has at most.
const BARS: usize = 64;
/// How many steps there are over time at most.
const STEPS: u64 = 400;
/// Buckets between a duration and its double.
const BUCKETS: f64 = 256.0;
/// More doublings than any duration has.
const DOUBLINGS: usize = 64;

/// Accumulates how long runs took.
pub(crate) struct LatencySum {
    runs_of_step: u64,
    buckets: Vec<u64>,
    min: f64,
    max: f64,
    runs: u64,
    /// All runs, for the interval of their median.
    times: Vec<f64>,
    numbers: Option<(u64, u64)>,
    step: Vec<f64>,
    steps: Vec<Step>,
}

impl LatencySum {
    /// `expected` is how many runs will be added, as far as that is known.
    pub(crate) fn new(expected: u64) -> Self {
        Self {
            runs_of_step: expected.div_ceil(STEPS).max(1),
            buckets: vec![0; BUCKETS as usize * DOUBLINGS],
            min: f64::INFINITY,
            max: 0.0,
            runs: 0,
            times: Vec::new(),
            numbers: None,
            step: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Adds a run with its number, of this many nanoseconds.
    pub(crate) fn add(&mut self, run: u64, nanos: f64) {
        // A damaged file may contain any number.
        let nanos = if nanos.is_finite() { nanos.max(1.0) } else { 1.0 };
        self.buckets[bucket(nanos)] += 1;
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.runs += 1;
        self.times.push(nanos);
        self.numbers = Some(self.numbers.map_or((run, run), |(first, last)| (first.min(run), last.max(run))));
        self.step.push(nanos);
        if self.step.len() as u64 >= self.runs_of_step {
            self.end_step();
        }
    }

    fn end_step(&mut self) {
        let Some((first, last)) = self.numbers.take() else { return };
        self.step.sort_by(f64::total_cmp);
        let runs = self.step.len();
        let median = (self.step[runs / 2] + self.step[(runs - 1) / 2]) / 2.0;
        let (min, max) = (self.step[0], self.step[runs - 1]);
        self.steps.push(Step { first, last, runs: runs as u64, min, median, max });
        self.step.clear();
    }

    /// Returns the sums; `None` if there was no run.
    pub(crate) fn finish(mut self) -> Option<Latency> {
        self.end_step();
        if self.runs == 0 {
            return None;
        }
        let (median, p90) = (self.percentile(50.0), self.percentile(90.0));
        // A few delayed runs would squeeze all others into one bar.
        let usual = (1.5 * p90).max(3.0 * median);
        let last = self.percentile(99.5).min(usual).max(self.min * 1.02);
        let (bars, beyond) = self.bars(last);
        Some(Latency {
            runs: self.runs,
            is_recorded: false,
            interval: MedianEstimate::of(&self.times, 1.0).and_then(|median| median.interval),
            min: self.min,
            max: self.max,
            median,
            p90,
            p99: self.percentile(99.0),
            usual,
            bars,
            beyond,
            steps: self.steps,
        })
    }

    /// Returns a [percentile](opscope_profile::percentile) of the runs, each of which is represented by the middle of
    /// its bucket.
    fn percentile(&self, percent: f64) -> f64 {
        let rank = Rank::of(percent, usize::try_from(self.runs).unwrap_or(usize::MAX));
        rank.between(self.time(rank.below as u64), self.time(rank.below as u64 + 1))
    }

    /// Returns the time with this index among the sorted ones, or the last one.
    fn time(&self, index: u64) -> f64 {
        let mut before = 0;
        for (bucket, runs) in self.buckets.iter().enumerate() {
            before += runs;
            if index < before {
                return ((lower_bound(bucket) + lower_bound(bucket + 1)) / 2.0).clamp(self.min, self.max);
            }
        }
        self.max
    }

    /// Returns the distribution up to a duration, in bars of equal ratio, and how many runs were longer.
    fn bars(&self, last: f64) -> (Vec<Bar>, u64) {
        let (first, last) = (bucket(self.min), bucket(last));
        let width = (last - first + 1).div_ceil(BARS).max(1);
        let bar = |from: usize| Bar {
            from: lower_bound(from),
            to: lower_bound(from + width),
            runs: self.buckets[from..(from + width).min(self.buckets.len())].iter().sum(),
        };
        let bars: Vec<Bar> = (first..=last).step_by(width).map(bar).collect();
        let shown: u64 = bars.iter().map(|bar| bar.runs).sum();
        (bars, self.runs - shown)
    }
}

fn bucket(nanos: f64) -> usize {
    ((nanos.log2() * BUCKETS) as usize).min(BUCKETS as usize * DOUBLINGS - 1)
}

fn lower_bound(bucket: usize) -> f64 {
    (bucket as f64 / BUCKETS).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_third_of_a_percent_and_every_run_is_in_a_bar_or_beyond() {
        let mut sum = LatencySum::new(10_000);
        (0..10_000u32).for_each(|run| sum.add(u64::from(run), 1_000_000.0 + f64::from((run * 7_919) % 10_000) * 100.0));
        sum.add(10_000, 1e9);
        let latency = sum.finish().expect("there are runs");
        for (found, exact) in [(latency.median, 1.5e6), (latency.p90, 1.9e6), (latency.p99, 1.99e6)] {
            assert!((found / exact - 1.0).abs() < 0.003, "{found} for {exact}");
        }
        assert_eq!((latency.min, latency.max, latency.runs), (1e6, 1e9, 10_001));
        assert!(latency.bars.len() <= BARS && latency.bars.len() > BARS / 2, "{} bars", latency.bars.len());
        assert_eq!(latency.bars.iter().map(|bar| bar.runs).sum::<u64>() + latency.beyond, 10_001);
        assert!(latency.beyond >= 1 && latency.beyond <= 60, "{} beyond", latency.beyond);
    }

    fn sum(times: &[f64], expected: u64) -> Latency {
        let mut sum = LatencySum::new(expected);
        times.iter().zip(10..).for_each(|(nanos, run)| sum.add(run, *nanos));
        sum.finish().expect("there are runs")
    }

    #[test]
    fn what_is_usual_is_three_medians_or_half_more_than_the_90th_percentile() {
        let same = sum(&[1_000.0; 100], 100);
        assert_eq!((same.min, same.median, same.p90, same.p99, same.max), (1e3, 1e3, 1e3, 1e3, 1e3));
        assert_eq!((same.usual, same.runs, same.beyond, same.is_recorded), (3_000.0, 100, 0, false));
        // 80 of 1000 ns and 20 of 4000: 1.5 x 4000 is more than 3 x 1000.
        let mut times = [1_000.0; 100];
        times[80..].fill(4_000.0);
        let slower = sum(&times, 100);
        assert!((slower.usual / 6_000.0 - 1.0).abs() < 0.003, "{}", slower.usual);
        assert_eq!((slower.median, slower.max), (slower.median.clamp(1e3, 1.003e3), 4e3));
        // The median of two is halfway between them.
        assert!((sum(&[1_000.0, 3_000.0], 2).median / 2_000.0 - 1.0).abs() < 0.003);
    }

    #[test]
    fn bars_are_parts_of_a_doubling_from_the_shortest_to_what_is_usual() {
        // 256 parts of a doubling: 1000 is in part 2551 of 1, and 1020, the least that is shown, in 2558.
        let same = sum(&[1_000.0; 100], 100);
        let edge = |part: f64| (part / 256.0).exp2();
        assert_eq!(same.bars.len(), 8);
        assert_eq!(same.bars[0], Bar { from: edge(2_551.0), to: edge(2_552.0), runs: 100 });
        assert_eq!(same.bars[7], Bar { from: edge(2_558.0), to: edge(2_559.0), runs: 0 });
        // From 1024 to 2048 there are 257 parts, which make 52 bars of five. 2048 is in the last bar, which has 2
        // parts.
        let mut times = [1_024.0; 100];
        times[50..].fill(2_048.0);
        let doubled = sum(&times, 100);
        assert_eq!((doubled.bars.len(), doubled.beyond), (52, 0));
        assert_eq!(doubled.bars[0], Bar { from: 1_024.0, to: edge(2_565.0), runs: 50 });
        assert_eq!(doubled.bars[51], Bar { from: edge(2_815.0), to: edge(2_820.0), runs: 50 });
        // One in a hundred takes ten times as long: that is beyond three medians.
        let mut times = [1_024.0; 100];
        times[99] = 10_240.0;
        let held_up = sum(&times, 100);
        assert_eq!(held_up.beyond, 1);
        assert!(
            held_up.bars.last().is_some_and(|bar| (3_000.0..3_300.0).contains(&bar.to)),
            "{:?}",
            held_up.bars.last()
        );
    }

    #[test]
    fn steps_have_the_numbers_the_extremes_and_the_median_of_their_runs() {
        // 800 are expected, and 400 steps are the most: two each.
        let found = sum(&[10.0, 30.0, 7.0, 5.0, 40.0], 800).steps;
        let step = |first, last, runs, (min, median, max)| Step { first, last, runs, min, median, max };
        let expected = [
            step(10, 11, 2, (10.0, 20.0, 30.0)),
            step(12, 13, 2, (5.0, 6.0, 7.0)),
            step(14, 14, 1, (40.0, 40.0, 40.0)),
        ];
        assert_eq!(found, expected);
        let found = sum(&[3.0, 9.0, 4.0, 100.0], 801).steps;
        assert_eq!(found, [step(10, 12, 3, (3.0, 4.0, 9.0)), step(13, 13, 1, (100.0, 100.0, 100.0))]);
        // Runs on several threads do not end in the order of their numbers.
        let mut sum = LatencySum::new(1_200);
        [(7, 1.0), (3, 2.0), (5, 4.0)].into_iter().for_each(|(run, nanos)| sum.add(run, nanos));
        assert_eq!(sum.finish().expect("there are runs").steps, [step(3, 7, 3, (1.0, 2.0, 4.0))]);
    }

    #[test]
    fn a_bucket_is_a_part_of_a_doubling() {
        assert_eq!([1.0, 2.0, 1_024.0, f64::MAX].map(bucket), [0, 256, 2_560, 256 * 64 - 1]);
        assert_eq!([0, 256, 2_560].map(lower_bound), [1.0, 2.0, 1_024.0]);
    }

    #[test]
    fn many_runs_become_a_fixed_number_of_steps_and_none_is_lost() {
        for runs in [1, 7, 400, 401, 99_999] {
            let mut sum = LatencySum::new(runs);
            (0..runs).for_each(|run| sum.add(run, 1_000.0 + run as f64));
            let steps = sum.finish().expect("there are runs").steps;
            assert!(steps.len() as u64 <= STEPS, "{} steps of {runs} runs", steps.len());
            assert_eq!(steps.iter().map(|step| step.runs).sum::<u64>(), runs);
            let follows = |pair: &[Step]| pair[0].first + pair[0].runs == pair[1].first && pair[0].max < pair[1].min;
            assert!(steps.windows(2).all(follows));
        }
        assert_eq!(LatencySum::new(0).finish(), None);
        let mut damaged = LatencySum::new(1);
        [f64::NAN, f64::INFINITY, -5.0, 0.0].into_iter().for_each(|nanos| damaged.add(0, nanos));
        assert_eq!(damaged.finish().map(|latency| latency.runs), Some(4));
    }
}
