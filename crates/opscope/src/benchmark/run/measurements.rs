use std::collections::BTreeSet;

use opscope_profile::Account;
use opscope_text::counted;

use crate::benchmark::measure::{MeasureError, Measurement};
use crate::benchmark::report::{FailedShapes, Measured};
use crate::machine;

/// The measurements of all sets of shapes, and how they ended.
#[derive(Default)]
pub(super) struct Measurements {
    /// Runs that began, warm-ups among them.
    pub runs: u64,
    pub measured: Vec<Measured>,
    pub incomplete_because: Vec<String>,
    /// The names of outputs of types such as strings.
    pub formless: BTreeSet<String>,
    /// The sets of shapes of a table that could not be measured.
    pub failed: Vec<FailedShapes>,
    /// How many sets of shapes of a table contradict themselves.
    pub left_out: u64,
    pub failure: Option<MeasureError>,
    /// The most memory that the process had resident until the last measured run, in bytes.
    pub peak_memory: u64,
    /// Where the time of a few runs with a profiler went.
    pub beside: Option<Account>,
}

impl Measurements {
    /// Counts the runs of a measurement, and notes what it lacks.
    pub fn note(&mut self, measurement: &Measurement) {
        self.runs += measurement.runs;
        self.peak_memory = machine::peak_memory();
        let runs = counted(measurement.compute.len(), "run");
        if measurement.cancelled {
            self.incomplete_because.push(format!("it was interrupted; {runs} measured"));
        }
        if measurement.unstable {
            self.incomplete_because.push(format!("the median was not as stable as wanted after {runs}"));
        }
    }

    /// Notes which sets of shapes of a table failed. A failure of one set is a failure of the job only if no set was
    /// measured.
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
