//! Writes the recording.

use std::path::Path;

use foldhash::HashSet;
use opscope_clock::Ticks;
use opscope_model::Iteration;
use opscope_onnx::OperatorId;
use opscope_profile::{Manifest, ProfileError, RecordingBuilder};
use opscope_trace::{
    Correlation, CorrelationId, CounterRecord, DispatchRecord, ExternalId, KernelIndex, MarkerOperation, MarkerRecord,
    NameId, PlanId, RunOperation, RunRecord, ThreadId,
};

use super::kernels::Kernels;
use super::names::{NameNumber, Names};
use super::rows::{OUTSIDE, RecordRow, SampleRow, record_of};
use super::runs::Runs;
use super::scopes::{Scope, Scopes};
use super::threads::Threads;
use crate::ImportError;

/// What a recording is written of, beside its rows.
pub(super) struct Parts<'a> {
    pub names: &'a Names,
    pub scopes: &'a Scopes,
    pub kernels: &'a Kernels,
    pub runs: &'a Runs,
    pub threads: &'a Threads,
}

pub(super) struct Written<'a> {
    parts: Parts<'a>,
    builder: RecordingBuilder,
    markers: HashSet<u32>,
    /// The number of the run whose records are being written.
    run: u32,
    zero: u64,
    path: Vec<Iteration>,
}

impl<'a> Written<'a> {
    /// Begins the recording in a new directory. `zero` is subtracted from every time.
    pub fn begin(directory: &Path, manifest: Manifest, parts: Parts<'a>, zero: u64) -> Result<Self, ProfileError> {
        let mut builder = RecordingBuilder::create(directory, manifest)?;
        for (thread, name) in parts.threads.named() {
            builder.thread(ThreadId(thread), name);
        }
        parts.kernels.built(parts.scopes, parts.names).for_each(|kernel| builder.kernel(&kernel));
        Ok(Self { parts, builder, markers: HashSet::default(), run: 0, zero, path: Vec::new() })
    }

    fn ticks(&self, nanos: u64) -> Ticks {
        Ticks::from_raw(nanos - self.zero)
    }

    /// Writes the next record. They come in the order of their runs; those outside of runs last.
    pub fn record(&mut self, row: &RecordRow) -> Result<(), ImportError> {
        self.end_runs(row.run)?;
        let (start, end) = (self.ticks(row.start), self.ticks(row.end));
        let thread = ThreadId(self.parts.threads.number(row.track));
        let correlation = Correlation { internal: CorrelationId(row.correlation), external: ExternalId(row.external) };
        if row.of == record_of::HOST_DISPATCH || row.of == record_of::DEVICE_DISPATCH {
            let record = DispatchRecord {
                run: u64::from(row.run),
                plan: PlanId(0),
                start,
                end,
                correlation,
                kernel: KernelIndex(row.name),
                thread,
                device: self.parts.threads.device(row.track),
                ..DispatchRecord::default()
            };
            self.path.clear();
            if row.of == record_of::HOST_DISPATCH {
                let around = self.parts.scopes.operators_around(Scope(row.around));
                let kernels = around.into_iter().filter_map(|operator| self.parts.kernels.in_path(operator));
                let level = |kernel| Iteration { operator: OperatorId::new(kernel), index: 0 };
                self.path.extend(kernels.map(level));
            }
            return Ok(self.builder.dispatch(&record, &self.path)?);
        }
        let name = NameId(row.name);
        if self.markers.insert(row.name) {
            self.builder.marker(name, self.parts.names.text(NameNumber(row.name)));
        }
        let operation = if row.of == record_of::MARK { MarkerOperation::Mark } else { MarkerOperation::Range };
        let record =
            MarkerRecord { start, end, correlation, name, operation: operation as u32, thread, depth: row.around };
        Ok(self.builder.record(&record, end)?)
    }

    /// Writes the values of counters, whose names are these with their units.
    pub fn samples(
        &mut self,
        counters: impl Iterator<Item = (u64, (NameNumber, NameNumber))>,
        samples: impl Iterator<Item = std::io::Result<SampleRow>>,
        scratch: &Path,
    ) -> Result<(), ImportError> {
        // Behind the numbers of the markers' names.
        let first = self.parts.names.len() as u32 + 1;
        let names = self.parts.names;
        for (number, (name, unit)) in counters {
            self.builder.counter(NameId(first + number as u32), names.text(name), names.text(unit));
        }
        for sample in samples {
            let sample = sample.map_err(ImportError::io("read in", scratch))?;
            let time = self.ticks(sample.at);
            let name = NameId(first + sample.counter as u32);
            let record = CounterRecord { time, value: sample.value, name, ..CounterRecord::default() };
            self.builder.record(&record, time)?;
        }
        Ok(())
    }

    /// Writes the records of the runs before this one that have none yet.
    fn end_runs(&mut self, before: u32) -> Result<(), ImportError> {
        let count = self.parts.runs.all.len() as u32;
        while self.run < before.min(count) {
            let run = self.parts.runs.all[self.run as usize];
            let record = RunRecord {
                run: u64::from(self.run),
                plan: PlanId(0),
                start: self.ticks(run.start),
                end: self.ticks(run.end),
                operation: RunOperation::Measured as u32,
                thread: ThreadId(self.parts.threads.number(run.track.0)),
                ..RunRecord::default()
            };
            self.builder.record(&record, record.end)?;
            self.run += 1;
        }
        Ok(())
    }

    /// Closes the recording.
    pub fn finish(mut self, manifest: Manifest) -> Result<Manifest, ImportError> {
        self.end_runs(OUTSIDE)?;
        Ok(self.builder.finish(manifest)?)
    }
}
