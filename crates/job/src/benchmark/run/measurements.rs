//! The measurements of all sets of shapes, each with its inputs.

use std::collections::{BTreeMap, BTreeSet};

use opscope_onnx::Graph;
use opscope_profile::{Account, median_interval};
use opscope_sys::memory;
use opscope_text::{counted, grouped};

use crate::benchmark::job::Job;
use crate::benchmark::measure::{MeasureError, Measurement, PeakMemory};
use crate::benchmark::report::{FailedShapes, FileInfo, InputSummary, Latency, Measured, MemorySummary, ShapeTimes};
use crate::inputs::{InputError, Inputs, ShapeSpec};

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

impl Measured {
    /// Summarises a measurement. Returns `None` if no run was measured. `batch_size` overrides the samples per run.
    pub(super) fn of(
        measurement: &Measurement,
        graph: &Graph,
        inputs: Vec<InputSummary>,
        batch_size: Option<u64>,
        concurrent: usize,
        filesinfo: BTreeMap<String, FileInfo>,
    ) -> Option<Self> {
        let compute = Latency::of(&measurement.compute)?;
        let batchsize = batch_size.map_or(measurement.batch_size, |batch| batch as f64);
        // If runs overlap, the time of one is its share of the time in which any run was in progress.
        let mean = if concurrent > 1 { measurement.busy / compute.count as f64 } else { compute.mean };
        Some(Self {
            made_up_dimensions: Vec::new(),
            again: Vec::new(),
            by_shape: ShapeTimes::of(measurement, &inputs, batch_size),
            inputs,
            compute,
            upload: Latency::of(&measurement.upload)?,
            download: Latency::of(&measurement.download)?,
            median_interval_95: median_interval(&measurement.compute),
            throughput: 1000.0 * batchsize / mean,
            throughput_at_median: 1000.0 * batchsize / if concurrent > 1 { mean } else { compute.median },
            batchsize,
            plan_ms: measurement.planning,
            run_memory: measurement.memory.map(|memory| MemorySummary::of(memory, graph)),
            notes: measurement.notes.clone(),
            verification: None,
            not_finite: None,
            npu_compute_time_list: measurement.compute.clone(),
            filesinfo,
        })
    }
}

impl MemorySummary {
    fn of(PeakMemory { memory, operator }: PeakMemory, graph: &Graph) -> Self {
        let operator = operator.map(|id| graph.operator(id).name.clone());
        Self { bytes: memory.peak, operator, unknown: memory.unknown }
    }
}

impl ShapeTimes {
    /// Returns the times of each shape of the inputs; empty if there is only one. `inputs` are those of the first run.
    fn of(measurement: &Measurement, inputs: &[InputSummary], batch_size: Option<u64>) -> Vec<Self> {
        if measurement.shapes.len() < 2 {
            return Vec::new();
        }
        let one = |(index, shapes): (usize, &Vec<Vec<usize>>)| {
            let times = measurement.compute.iter().zip(&measurement.shape_of);
            let times: Vec<f64> = times.filter(|(_, of)| **of == index).map(|(time, _)| *time).collect();
            let compute = Latency::of(&times)?;
            let first = shapes.first().and_then(|shape| shape.first()).copied().unwrap_or(1);
            let batch = batch_size.map_or(first as f64, |batch| batch as f64);
            let with_shape =
                |(input, shape): (&InputSummary, &Vec<usize>)| InputSummary { shape: shape.clone(), ..input.clone() };
            let inputs = inputs.iter().zip(shapes).map(with_shape).collect();
            let [throughput, throughput_at_median] = [compute.mean, compute.median].map(|time| 1000.0 * batch / time);
            Some(Self { inputs, throughput, throughput_at_median, compute })
        };
        measurement.shapes.iter().enumerate().filter_map(one).collect()
    }
}

/// The sets of shapes of a job, each with its inputs.
pub(super) struct ShapeSets {
    /// The sets that fit the model.
    pub fitting: Vec<(ShapeSpec, Inputs)>,
    /// The sets of a table that do not fit.
    pub failed: Vec<FailedShapes>,
    /// The number of sets of a table that give a dimension of one name two sizes. Such combinations are not intended.
    pub left_out: u64,
}

impl ShapeSets {
    /// Finds the inputs of every set.
    ///
    /// # Errors
    /// Returns the first error if no set fits the model.
    pub fn of(job: &Job, graph: &Graph) -> Result<Self, InputError> {
        let mut sets = Self { fitting: Vec::new(), failed: Vec::new(), left_out: 0 };
        let mut refusal = None;
        for shapes in &job.shapes {
            match job.inputs.find(graph, shapes) {
                Ok((inputs, shapes)) => sets.fitting.push((shapes, inputs)),
                Err(error) => {
                    match error {
                        InputError::TwoSizes { .. } => sets.left_out += 1,
                        _ => sets.failed.push(FailedShapes { shapes: shapes.to_string(), reason: error.to_string() }),
                    }
                    refusal.get_or_insert(error);
                }
            }
        }
        match refusal {
            Some(refusal) if sets.fitting.is_empty() => Err(refusal),
            _ => Ok(sets),
        }
    }
}
