//! The load of the machine during a measurement, as far as a process can find out.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use opscope_sys::Mutex;
use serde::{Deserialize, Serialize};

/// How busy the machine was during a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Load {
    /// The system's load average over one minute when the measurement began, which is the number of threads that ran or
    /// could have run; `None` if the system does not provide it.
    pub average_start: Option<f64>,
    /// The same when it ended. The measurement's own threads count.
    pub average_end: Option<f64>,
    /// How long a fixed piece of work took between runs; `None` if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<ReferenceTimes>,
}

/// The times of a fixed piece of work that is repeated between runs: arithmetic, and reads and writes of memory in the
/// second-level cache. It takes longer when the processor is slower, because of its clock or because another program
/// shares its core. On a virtual machine the system may not see that program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReferenceTimes {
    /// The 25th percentile, in nanoseconds.
    pub p25_ns: f64,
    /// The median, in nanoseconds.
    pub median_ns: f64,
    /// The 75th percentile, in nanoseconds.
    pub p75_ns: f64,
    /// The number of measurements.
    pub samples: usize,
}

/// Watches the load during a measurement.
#[derive(Debug)]
pub struct LoadMeter {
    average_start: Option<f64>,
    reference: Mutex<Reference>,
}

#[derive(Debug)]
struct Reference {
    near: [f32; NEAR],
    far: Box<[f32]>,
    /// When to measure next.
    next: Instant,
    nanos: Vec<f64>,
}

/// How many numbers in the first-level cache the reference work multiplies and adds.
const NEAR: usize = 256;
/// How often it does so, which takes some microseconds.
const ROUNDS: usize = 150;
/// How many numbers it multiplies and adds once. They take 64 KiB, more than a first-level cache has. If a program on
/// the same core slows models down 1.6 times, it slows this part down 3 to 5 times and the arithmetic 1.25 times, and
/// the two together 1.6 times.
const FAR: usize = 16 << 10;
/// The shortest time between two measurements of the reference work.
const PAUSE: Duration = Duration::from_millis(5);
/// How often the reference work is done for a measurement.
const REPETITIONS: u32 = 4;
/// How many times as long as a measurement the pauses are.
const PAUSES: u32 = 100;
/// The maximum number of measurements that are kept.
const MOST_SAMPLES: usize = 1 << 20;

impl LoadMeter {
    /// Begins to watch.
    pub fn begin() -> Self {
        let far = vec![1.0; FAR].into_boxed_slice();
        let reference = Reference { near: [1.0; NEAR], far, next: Instant::now(), nanos: Vec::new() };
        Self { average_start: load_average(), reference: Mutex::new(reference) }
    }

    /// Does the reference work if the last time is some milliseconds ago. Call this between runs, on the thread that
    /// runs the model. It takes one percent of the time.
    pub fn measure(&self) {
        // Otherwise another thread is measuring.
        if let Some(mut reference) = self.reference.try_lock() {
            reference.measure();
        }
    }

    /// Returns the load during the measurement.
    pub fn end(&self) -> Load {
        let mut reference = self.reference.lock();
        Load {
            average_start: self.average_start,
            average_end: load_average(),
            reference: ReferenceTimes::of(std::mem::take(&mut reference.nanos)),
        }
    }
}

impl Load {
    /// Returns the current load, without reference times.
    pub(crate) fn now() -> Self {
        Self { average_start: load_average(), ..Self::default() }
    }

    /// Returns the load of a measurement that ends now.
    pub(crate) fn until_now(self) -> Self {
        Self { average_end: load_average(), ..self }
    }
}

impl Reference {
    fn measure(&mut self) {
        let begin = Instant::now();
        if begin < self.next || self.nanos.len() >= MOST_SAMPLES {
            return;
        }
        // The first repetition brings the numbers into the caches. The minimum is taken, because an interruption does
        // not mean a slower processor.
        self.work();
        let mut times = [self.work(), self.work(), self.work()];
        times.sort_unstable();
        self.nanos.push(times[1].as_nanos() as f64);
        // Time in which another program had the processor is not what the work took, and would make the pauses long.
        self.next = Instant::now() + PAUSE.max(times[1] * REPETITIONS * PAUSES);
    }

    /// Does the work, and returns how long it took. It uses all units for loads, stores, multiplications and additions
    /// of a core, and the second-level cache, so that a program on the same core slows it down in the same way as
    /// kernels.
    fn work(&mut self) -> Duration {
        fn pass(numbers: &mut [f32]) {
            for number in &mut *numbers {
                *number = *number * 0.999 + 0.001;
            }
            black_box(numbers);
        }
        let begin = Instant::now();
        (0..ROUNDS).for_each(|_| pass(&mut self.near));
        pass(&mut self.far);
        begin.elapsed()
    }
}

impl ReferenceTimes {
    /// Returns the range of the factor by which the work took longer in another measurement, from the quartiles of
    /// both. Returns `None` if a time is not above 0.
    pub fn slowdown(&self, other: &Self) -> Option<(f64, f64)> {
        let ratios = (other.p25_ns / self.p75_ns, other.p75_ns / self.p25_ns);
        (self.p25_ns > 0.0 && other.p25_ns > 0.0 && ratios.0.is_finite() && ratios.1.is_finite()).then_some(ratios)
    }

    /// Summarises times; `None` if there are too few for quartiles.
    fn of(mut nanos: Vec<f64>) -> Option<Self> {
        const LEAST: usize = 8;
        nanos.sort_unstable_by(f64::total_cmp);
        let at = |share: usize| nanos[(nanos.len() - 1) * share / 4];
        (nanos.len() >= LEAST).then(|| Self { p25_ns: at(1), median_ns: at(2), p75_ns: at(3), samples: nanos.len() })
    }
}

/// Returns the system's load average over one minute.
fn load_average() -> Option<f64> {
    over_one_minute(&fs::read_to_string("/proc/loadavg").ok()?)
}

/// Parses `/proc/loadavg` (proc_loadavg(5)). The averages over one, five and fifteen minutes come first.
fn over_one_minute(averages: &str) -> Option<f64> {
    averages.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_work_is_measured_once_in_a_pause_and_summarised_by_quartiles() {
        let meter = LoadMeter::begin();
        (0..10).for_each(|_| meter.measure());
        let measured = meter.reference.lock().nanos.len();
        assert!((1..10).contains(&measured), "{measured} measurements without a pause");
        assert_eq!(meter.end().reference, None, "too few for quartiles");
        let times = ReferenceTimes::of((1..=9).rev().map(f64::from).collect()).unwrap();
        assert_eq!(times, ReferenceTimes { p25_ns: 3.0, median_ns: 5.0, p75_ns: 7.0, samples: 9 });
    }

    #[test]
    fn the_average_over_one_minute_is_the_first_of_three() {
        assert_eq!(over_one_minute("1.25 2.50 3.75 4/567 8901\n"), Some(1.25));
        assert_eq!(over_one_minute(""), None);
    }

    #[test]
    fn the_load_is_the_average_that_the_system_provides_at_that_moment() {
        let provided = || {
            let averages = fs::read_to_string("/proc/loadavg").ok()?;
            averages.split(' ').next()?.parse::<f64>().ok()
        };
        // The system computes a new average every few seconds.
        let (average, begun, ended) = loop {
            let before = provided();
            let begun = Load::now();
            let found = (before, begun, begun.until_now());
            if provided() == before {
                break found;
            }
        };
        assert_eq!(begun, Load { average_start: average, average_end: None, reference: None });
        assert_eq!(ended, Load { average_end: average, ..begun });
    }

    /// 1 * 0.999 + 0.001 is 1 again. If the numbers shrank, they would become denormal after a while, and computing
    /// with those takes longer.
    #[test]
    fn the_numbers_of_the_reference_work_stay_near_one() {
        let meter = LoadMeter::begin();
        let mut reference = meter.reference.into_inner();
        (0..3).for_each(|_| _ = reference.work());
        let all = || reference.near.iter().chain(&reference.far);
        assert_eq!(all().count(), NEAR + FAR);
        assert!(
            all().all(|number| (0.999..1.001).contains(number)),
            "{:?}",
            all().find(|number| !(0.999..1.001).contains(*number))
        );
    }
}
