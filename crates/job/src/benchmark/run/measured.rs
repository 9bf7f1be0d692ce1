use std::collections::BTreeMap;

use opscope_onnx::Graph;
use opscope_profile::median_interval;

use crate::benchmark::latency::Latency;
use crate::benchmark::measure::{Measurement, PeakMemory};
use crate::benchmark::report::{FileInfo, InputSummary, Measured, MemorySummary, ShapeTimes};

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
