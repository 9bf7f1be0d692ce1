//! What a benchmark found: what is printed, and the content of `<run>_summary.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_model::Fidelity;
use opscope_profile::Account;
use serde::Serialize;

use super::latency::{Latency, median_interval};
use super::measure::Measurement;
use crate::machine::Machine;
use crate::verify::Verification;

/// What a benchmark found. As JSON it is described in `docs/summary.md`.
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
    /// The process.
    pub pid: u32,
    /// The model.
    pub model: ModelSummary,
    /// What ran it.
    pub engine: EngineSummary,
    /// Where.
    pub machine: Machine,
    /// Milliseconds that loading took, without plans.
    pub load_ms: f64,
    /// The most memory that the process had resident, in bytes.
    pub peak_memory_bytes: u64,
    /// Whether everything that was asked for was done.
    pub complete: bool,
    /// Why not, a sentence each.
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
    /// How many sets of shapes of a table were left out, because they give a dimension of one name two sizes.
    #[serde(skip_serializing_if = "is_none")]
    pub left_out_shapes: u64,
    /// The profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileSummary>,
    /// The dump.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dump: Option<DumpSummary>,
    /// What the debugger did, where one could attach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debugger: Option<DebuggerSummary>,
}

/// The model of a report.
#[derive(Debug, Clone, Serialize)]
pub struct ModelSummary {
    /// The file, as it was given.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// XXH3 (64 bit) of the file, as 16 hexadecimal digits.
    pub xxh3: String,
    /// The graph's name.
    pub graph: String,
    /// How many operators it has.
    pub operators: usize,
}

/// The engine of a report.
#[derive(Debug, Clone, Serialize)]
pub struct EngineSummary {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How faithfully the file was followed. Exact times are not the model's.
    pub fidelity: Fidelity,
    /// Threads within an operator.
    pub threads: usize,
    /// Runs at a time.
    pub concurrent_runs: usize,
}

/// The times of one set of shapes.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// The inputs.
    pub inputs: Vec<InputSummary>,
    /// The dimensions that the file leaves open and that are 1 because nothing says more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub made_up_dimensions: Vec<String>,
    /// The inference itself.
    #[serde(rename = "NPU_compute_time")]
    pub compute: Latency,
    /// Copying inputs to the engine.
    #[serde(rename = "H2D_latency")]
    pub upload: Latency,
    /// Copying outputs back.
    #[serde(rename = "D2H_latency")]
    pub download: Latency,
    /// The 95 % confidence interval of the median inference time, in milliseconds.
    pub median_interval_95: Option<(f64, f64)>,
    /// What the plan says of how it runs the model, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What comparing the plan with the exact one has shown; none where that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Samples per second: `1000 * batchsize / mean`, with `mean` in milliseconds.
    pub throughput: f64,
    /// Samples in a run.
    pub batchsize: f64,
    /// Milliseconds that making the plan took.
    pub plan_ms: f64,
    /// The same for each shape, where the input files have several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_shape: Vec<ShapeTimes>,
    /// Every inference time, in milliseconds.
    pub npu_compute_time_list: Vec<f64>,
    /// The files of the first pass.
    pub filesinfo: BTreeMap<String, FileInfo>,
}

/// A set of shapes that could not be measured.
#[derive(Debug, Clone, Serialize)]
pub struct FailedShapes {
    /// The shapes.
    pub shapes: String,
    /// Why.
    pub reason: String,
}

/// The times of one of several shapes that the input files have.
#[derive(Debug, Clone, Serialize)]
pub struct ShapeTimes {
    /// The inputs.
    pub inputs: Vec<InputSummary>,
    /// The inference itself.
    #[serde(rename = "NPU_compute_time")]
    pub compute: Latency,
    /// Samples per second, of this shape alone.
    pub throughput: f64,
}

/// An input of a report.
#[derive(Debug, Clone, Serialize)]
pub struct InputSummary {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: String,
    /// Its shape in the first run.
    pub shape: Vec<usize>,
}

/// The files of one run.
#[derive(Debug, Clone, Serialize)]
pub struct FileInfo {
    /// What was read.
    pub infiles: Vec<PathBuf>,
    /// What was written.
    pub outfiles: Vec<PathBuf>,
}

/// The profile of a report.
#[derive(Debug, Clone, Serialize)]
pub struct ProfileSummary {
    /// The recording's directory.
    pub directory: PathBuf,
    /// What was exported; empty where only the raw recording was wanted.
    pub exports: Vec<PathBuf>,
    /// Where the time of a run goes; none where only the raw recording was wanted.
    pub account: Option<Account>,
}

/// The dump of a report.
#[derive(Debug, Clone, Serialize)]
pub struct DumpSummary {
    /// Its directory.
    pub directory: PathBuf,
    /// How many tensors are in it.
    pub tensors: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many were selected and are not there.
    pub missing: u64,
}

/// The debugger of a report.
#[derive(Debug, Clone, Serialize)]
pub struct DebuggerSummary {
    /// How many runs it stopped, warm-ups among them. What they waited is a part of their times, so these are not the
    /// model's.
    pub stopped_runs: u64,
}

impl Report {
    /// Notes that something that was asked for was not done.
    pub(super) fn fall_short(&mut self, reason: String) {
        self.complete = false;
        self.incomplete_because.push(reason);
    }
}

impl Measured {
    /// Summarises a measurement; none if nothing was measured. `batch_size` is what the user says a run's samples are.
    pub(super) fn of(
        measurement: &Measurement,
        inputs: Vec<InputSummary>,
        batch_size: Option<u64>,
        concurrent: usize,
        filesinfo: BTreeMap<String, FileInfo>,
    ) -> Option<Self> {
        let compute = Latency::of(&measurement.compute)?;
        let batchsize = batch_size.map_or(measurement.batch_size, |batch| batch as f64);
        // Where runs overlap, the time of one is its share of the time in which any was going on.
        let mean = if concurrent > 1 { measurement.busy / compute.count as f64 } else { compute.mean };
        Some(Self {
            made_up_dimensions: Vec::new(),
            by_shape: ShapeTimes::of(measurement, &inputs, batch_size),
            inputs,
            compute,
            upload: Latency::of(&measurement.upload)?,
            download: Latency::of(&measurement.download)?,
            median_interval_95: median_interval(&measurement.compute),
            throughput: 1000.0 * batchsize / mean,
            batchsize,
            plan_ms: measurement.planning,
            notes: measurement.notes.clone(),
            verification: None,
            npu_compute_time_list: measurement.compute.clone(),
            filesinfo,
        })
    }
}

impl ShapeTimes {
    /// The times of each shape of the inputs; nothing where there is only one. `inputs` are those of the first run.
    fn of(measurement: &Measurement, inputs: &[InputSummary], batch_size: Option<u64>) -> Vec<Self> {
        if measurement.shapes.len() < 2 {
            return Vec::new();
        }
        let one = |(place, shapes): (usize, &Vec<Vec<usize>>)| {
            let times = measurement.compute.iter().zip(&measurement.shape_of);
            let times: Vec<f64> = times.filter(|(_, of)| **of == place).map(|(time, _)| *time).collect();
            let compute = Latency::of(&times)?;
            let first = shapes.first().and_then(|shape| shape.first()).copied().unwrap_or(1);
            let batch = batch_size.map_or(first as f64, |batch| batch as f64);
            let with_shape =
                |(input, shape): (&InputSummary, &Vec<usize>)| InputSummary { shape: shape.clone(), ..input.clone() };
            let inputs = inputs.iter().zip(shapes).map(with_shape).collect();
            Some(Self { inputs, throughput: 1000.0 * batch / compute.mean, compute })
        };
        measurement.shapes.iter().enumerate().filter_map(one).collect()
    }
}

/// Returns whether there is nothing to say of.
fn is_none(count: &u64) -> bool {
    *count == 0
}
