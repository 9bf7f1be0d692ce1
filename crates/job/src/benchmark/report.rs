//! The result of a benchmark: what is printed, and the content of `<run>_summary.json`, with statistics of many times.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_profile::{Account, EngineInfo, Load, ShownRuns, percentile};
use opscope_tensor::{DType, Digest};
use serde::Serialize;

use super::not_finite::NotFinite;
use crate::json_path;
use crate::machine::Machine;
use crate::verify::Verification;

/// The result of a benchmark. `docs/summary.md` describes it as JSON.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `opscope.summary/1`.
    pub schema: &'static str,
    /// The run's name.
    pub run: String,
    /// The program that wrote it, with its version.
    pub opscope: &'static str,
    /// The command line.
    pub args: Vec<String>,
    /// The id of the process.
    pub pid: u32,
    /// When the job began to load the model, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// The model.
    pub model: ModelSummary,
    /// The engine. Times at exact fidelity are not the model's.
    pub engine: EngineInfo,
    /// The machine.
    pub machine: Machine,
    /// How busy it was.
    pub load: Load,
    /// The time that loading took, without making plans, in milliseconds.
    pub load_ms: f64,
    /// The peak of the process's resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// Whether everything that was requested was done.
    pub complete: bool,
    /// What was not done, one sentence each.
    pub incomplete_because: Vec<String>,
    /// One measurement, or one for every set of shapes of a table.
    #[serde(skip)]
    pub measurements: Vec<Measured>,
    /// The first measurement, with the keys of `ait benchmark` at the top.
    #[serde(flatten)]
    pub first: Option<Measured>,
    /// Every measurement of a table of shapes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dym_shape_range: Option<Vec<Measured>>,
    /// The sets of shapes of a table that could not be measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_shapes: Vec<FailedShapes>,
    /// The number of sets of shapes of a table that were excluded, because they give a dimension of one name two sizes.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out_shapes: u64,
    /// The profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileSummary>,
    /// Where the time went in the few runs with a profiler after the measured ones. `None` if there were none.
    #[serde(skip)]
    pub beside: Option<Account>,
    /// The dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump: Option<DumpSummary>,
    /// What the debugger did, if one could attach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debugger: Option<DebuggerSummary>,
    /// The directory of the model's outputs; `None` if no directory has the run's name.
    #[serde(skip)]
    pub outputs: Option<PathBuf>,
    /// The file of the summary; `None` if this run has none.
    #[serde(skip)]
    pub summary: Option<PathBuf>,
}

/// The model of a report.
#[derive(Debug, Clone, Serialize)]
pub struct ModelSummary {
    /// The file, as it was given.
    #[serde(serialize_with = "json_path::path")]
    pub path: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// XXH3 (64 bit) of the file, as 16 hexadecimal digits.
    pub xxh3: Digest,
    /// The graph's name.
    pub graph: String,
    /// The number of operators.
    pub operators: usize,
}

/// The times of one set of shapes.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// The inputs.
    pub inputs: Vec<InputSummary>,
    /// The dimensions that the file leaves open and that are 1 because nothing sets them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_up_dimensions: Vec<String>,
    /// The times of the inference itself.
    #[serde(rename = "NPU_compute_time")]
    pub compute: Latency,
    /// The times of copying the inputs to the engine.
    #[serde(rename = "H2D_latency")]
    pub upload: Latency,
    /// The times of copying the outputs back.
    #[serde(rename = "D2H_latency")]
    pub download: Latency,
    /// The 95 % confidence interval of the median inference time, in milliseconds.
    pub median_interval_95: Option<(f64, f64)>,
    /// The memory that tensors take during one run. With several plans, it is that of the plan that needs the most.
    /// `None` if the engine does not report it.
    pub run_memory: Option<MemorySummary>,
    /// How the plan runs the model, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The result of comparing the plan with the exact one; `None` if that was not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The options with which another command runs the model on the same inputs with the same engine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// The outputs that have NaN or infinite elements; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_finite: Option<NotFinite>,
    /// Samples per second: `1000 * batchsize / mean`, with `mean` in milliseconds, as other tools compute it. With
    /// concurrent runs, `mean` is a run's share of the time in which any run was in progress.
    pub throughput: f64,
    /// Samples per second of a run that takes the median time. It is shown beside a median. With concurrent runs, it is
    /// the same as `throughput`.
    pub throughput_at_median: f64,
    /// Samples per run.
    pub batchsize: f64,
    /// The time that making the plan took, in milliseconds.
    pub plan_ms: f64,
    /// The times of each shape, if the input files have several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_shape: Vec<ShapeTimes>,
    /// Every inference time, in milliseconds.
    pub npu_compute_time_list: Vec<f64>,
    /// The files of the first pass over the inputs, by the number of the run.
    pub filesinfo: BTreeMap<String, FileInfo>,
}

/// The memory that tensors take during one run.
#[derive(Debug, Clone, Serialize)]
pub struct MemorySummary {
    /// The largest number of bytes of inputs, outputs and values in between that exist at once.
    pub bytes: u64,
    /// The operator that is executed at that moment; `None` if the inputs alone need the most.
    pub operator: Option<String>,
    /// The number of tensors that are not counted, because their sizes depend on what a run computes.
    pub unknown: usize,
}

/// A set of shapes that could not be measured.
#[derive(Debug, Clone, Serialize)]
pub struct FailedShapes {
    /// The shapes.
    pub shapes: String,
    /// The reason.
    pub reason: String,
}

/// The times of one of several shapes that the input files have.
#[derive(Debug, Clone, Serialize)]
pub struct ShapeTimes {
    /// The inputs.
    pub inputs: Vec<InputSummary>,
    /// The times of the inference itself.
    #[serde(rename = "NPU_compute_time")]
    pub compute: Latency,
    /// Samples per second for this shape alone: `1000 * batchsize / mean`.
    pub throughput: f64,
    /// Samples per second of a run that takes the median time.
    pub throughput_at_median: f64,
}

/// An input of a report.
#[derive(Debug, Clone, Serialize)]
pub struct InputSummary {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape in the first run.
    pub shape: Vec<usize>,
}

/// The files of one run.
#[derive(Debug, Clone, Serialize)]
pub struct FileInfo {
    /// The files that were read; empty for generated inputs.
    #[serde(serialize_with = "json_path::paths")]
    pub infiles: Vec<PathBuf>,
    /// The names of the files that were written.
    #[serde(serialize_with = "json_path::paths")]
    pub outfiles: Vec<PathBuf>,
}

/// The profile of a report.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProfileSummary {
    /// The recording's directory.
    #[serde(serialize_with = "json_path::path")]
    pub directory: PathBuf,
    /// The exported files; empty if only the raw recording was requested.
    #[serde(serialize_with = "json_path::paths")]
    pub exports: Vec<PathBuf>,
    /// The runs that the timelines and the table of dispatches show; `None` if they show all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_runs: Option<ShownRuns>,
    /// Whether the requested exports were skipped, because the job was cancelled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped_exports: bool,
    /// The size of the recording in bytes, without exports.
    pub recording_bytes: u64,
    /// The number of runs after the recording had reached its budget.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_beyond_budget: u64,
    /// Where the time of a run goes. `None` if only the raw recording was requested, or if the job was cancelled and
    /// the recording was large.
    pub account: Option<Account>,
}

/// The dump of a report.
#[derive(Debug, Clone, Serialize)]
pub struct DumpSummary {
    /// Its directory.
    #[serde(serialize_with = "json_path::path")]
    pub directory: PathBuf,
    /// The number of tensors in it.
    pub tensors: u64,
    /// The bytes of these tensors.
    pub bytes: u64,
    /// The number of tensors that were selected and are missing.
    pub missing: u64,
}

/// The debugger of a report.
#[derive(Debug, Clone, Serialize)]
pub struct DebuggerSummary {
    /// The number of runs that it stopped, including warm-ups. Their times include the waiting, so they are not the
    /// model's.
    pub stopped_runs: u64,
}

impl Report {
    /// Records that something that was requested was not done.
    pub(super) fn fall_short(&mut self, reason: String) {
        self.complete = false;
        self.incomplete_because.push(reason);
    }
}

/// Returns whether a count is left out of the JSON.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A summary of times, all in milliseconds. Percentiles are those of [`opscope_profile::percentile`], computed from the
/// samples themselves and not from bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The 50th percentile.
    pub median: f64,
    /// The 90th percentile.
    #[serde(rename = "P90")]
    pub p90: f64,
    /// The 95th percentile.
    #[serde(rename = "P95")]
    pub p95: f64,
    /// The 99th percentile.
    #[serde(rename = "P99")]
    pub p99: f64,
    /// The 99.9th percentile.
    #[serde(rename = "P99.9")]
    pub p999: f64,
    /// The 99th percentile again, under the name that it has in the tools that this command replaces.
    #[serde(rename = "percentile(99%)")]
    pub percentile_99: f64,
    /// The number of times.
    pub count: usize,
}

impl Latency {
    /// Summarises times in milliseconds. Returns `None` if there are none.
    pub fn of(times: &[f64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |percent: f64| percentile(&sorted, percent);
        Some(Self {
            min: *sorted.first()?,
            max: *sorted.last()?,
            mean: times.iter().sum::<f64>() / times.len() as f64,
            median: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            p999: at(99.9),
            percentile_99: at(99.0),
            count: times.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.percentile([0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3], p)` for 50, 90, 95, 99, 99.9.
    #[test]
    fn percentiles_are_numpys() {
        let latency = Latency::of(&[0.1, 0.5, 0.2, 1.7, 0.9, 0.4, 3.3]).unwrap();
        let found = [latency.median, latency.p90, latency.p95, latency.p99, latency.p999];
        assert_eq!(found, [0.5, 2.3400000000000007, 2.8199999999999985, 3.203999999999999, 3.290400000000001]);
        assert_eq!((latency.min, latency.max, latency.count), (0.1, 3.3, 7));
    }

    #[test]
    fn no_times_have_no_summary() {
        assert_eq!(Latency::of(&[]), None);
    }
}
