use std::collections::BTreeSet;

use opscope_profile::Account;
use opscope_sys::memory;
use opscope_text::{counted, grouped};

use crate::benchmark::measure::{MeasureError, Measurement};
use crate::benchmark::report::{FailedShapes, Measured};

/// The measurements of all sets of shapes, and how they ended.
#[derive(Default)]
pub(super) struct Measurements {
    /// The number of runs that began, including warm-ups.
    pub runs: u64,
    pub measured: Vec<Measured>,
    pub incomplete_because: Vec<String>,
    /// The names of the outputs without a byte form, such as strings.
    pub formless: BTreeSet<String>,
    /// The sets of shapes of a table that could not be measured.
    pub failed: Vec<FailedShapes>,
    /// The number of sets of shapes of a table that contradict themselves.
    pub left_out: u64,
    pub failure: Option<MeasureError>,
    /// The peak of the process's resident memory until the last measured run, in bytes.
    pub peak_memory: u64,
    /// Where the time of a few runs with a profiler went.
    pub beside: Option<Account>,
}

impl Measurements {
    /// Adds the runs of a measurement, and records what it lacks. `set` is how many of the `sets` of shapes were
    /// measured before it.
    pub fn note(&mut self, measurement: &Measurement, set: usize, sets: usize) {
        self.runs += measurement.runs;
        self.peak_memory = memory::peak();
        let runs = counted(grouped(measurement.compute.len() as u64), "run");
        if measurement.cancelled {
            self.incomplete_because.push(match sets {
                0 | 1 => format!("it was interrupted; {runs} measured"),
                _ => self.interrupted_table(measurement, set, sets),
            });
        }
        if measurement.unstable {
            self.incomplete_because.push(format!("the median was not as stable as wanted after {runs}"));
        }
    }

    /// Returns a sentence about how far a table came: the runs of all its sets of shapes, and how many sets have no
    /// run.
    fn interrupted_table(&self, measurement: &Measurement, set: usize, sets: usize) -> String {
        let last = measurement.compute.len();
        let before: usize = self.measured.iter().map(|measured| measured.compute.count).sum();
        let runs = counted(grouped((before + last) as u64), "run");
        let missing = sets - set - usize::from(last > 0);
        let of_last = if last > 0 { "; the last of the others has fewer runs" } else { "" };
        format!("it was interrupted; {runs} measured; {missing} of {sets} sets of shapes are missing{of_last}")
    }

    /// Records which sets of shapes of a table failed. The failure of one set is a failure of the job only if no set
    /// was measured.
    pub fn finish(&mut self) {
        if !self.measured.is_empty()
            && self.failure.as_ref().is_some_and(MeasureError::is_of_these_inputs)
            && !self.failed.is_empty()
        {
            self.failure = None;
        }
        let failed = self.failed.iter().map(|failed| format!("{} failed: {}", failed.shapes, failed.reason));
        self.incomplete_because.extend(failed);
    }
}
