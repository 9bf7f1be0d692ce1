//! Makes a recording of what another tool recorded.

use std::fs::File;
use std::path::Path;

use opscope_clock::{ClockPair, Ticks, Timestamp};
use opscope_model::{Fidelity, Iteration};
use opscope_onnx::CodeOrigin;
use opscope_trace::{Category, DispatchRecord, Header, Kind, NameId, PathLevel, Record, ThreadId};
use zerocopy::IntoBytes;

use super::frame::{FRAME_MAX, FrameWriter};
use super::manifest::{Manifest, RecordCounts};
use super::names::{NamedAttribution, NamedKernel, NamedOperator, NamesLine, TensorKind};
use super::record::{store, stored_length};
use super::writer::{RECORDS, RecordingWriter, RecordsFile};
use crate::ProfileError;

/// Writes a recording record by record. Its times are nanoseconds since the trace's zero, which every record's ticks
/// are, so a time is exactly what the trace says.
///
/// The record of a run follows those of its dispatches, and those of each thread are in order. Names are added before
/// the records that refer to them.
pub struct RecordingBuilder {
    directory: std::path::PathBuf,
    manifest: Manifest,
    writer: RecordingWriter,
    frames: FrameWriter<File>,
    payload: Vec<u8>,
    pending: u64,
    delivered: u64,
    /// The last moment of any record.
    end: u64,
    has_plan: bool,
}

/// A kernel, and the operator that its time counts for.
#[derive(Debug, Clone)]
pub struct BuiltKernel {
    /// The operator's name; `None` for a kernel that no operator launched.
    pub operator: Option<BuiltOperator>,
    /// The kernel's name.
    pub name: String,
    /// What is executed.
    pub op: String,
    /// The types and shapes of the inputs, as far as they are known.
    pub inputs: Vec<TensorKind>,
}

/// An operator of a program.
#[derive(Debug, Clone)]
pub struct BuiltOperator {
    /// Its name, the same in each run.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// The modules that it is in.
    pub origin: Option<CodeOrigin>,
}

impl RecordingBuilder {
    /// Creates the directory, which must not exist, and its files. Until [`finish`](Self::finish) the recording says
    /// that it is incomplete.
    ///
    /// # Errors
    /// Returns an error if the directory exists or a file cannot be written.
    pub fn create(directory: &Path, manifest: Manifest) -> Result<Self, ProfileError> {
        let (writer, records) = RecordingWriter::create(directory, manifest.clone())?;
        let frames = RecordsFile::into_frames(records);
        Ok(Self {
            directory: directory.to_owned(),
            manifest,
            writer,
            frames,
            payload: Vec::with_capacity(FRAME_MAX),
            pending: 0,
            delivered: 0,
            end: 0,
            has_plan: false,
        })
    }

    /// Removes what was written, after an error.
    pub fn remove(directory: &Path) {
        super::writer::remove(directory);
    }

    /// Adds a kernel. They are numbered from 0 in the order in which they are added, and so are their operators, to
    /// which paths refer.
    pub fn kernel(&mut self, kernel: &BuiltKernel) {
        if !self.has_plan {
            self.writer.names().add(&NamesLine::OpenPlan { plan: 0, fidelity: Fidelity::Exact });
            self.has_plan = true;
        }
        let of = kernel.operator.as_ref();
        let operator = NamedOperator {
            name: of.map_or_else(|| kernel.name.clone(), |of| of.name.clone()),
            op_type: of.map_or_else(|| kernel.op.clone(), |of| of.op_type.clone()),
            domain: String::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            origin: of.and_then(|of| of.origin.clone()),
        };
        let operators = of.map(|_| NamedAttribution { operator: 0, exact: true }).into_iter().collect();
        let kernel = NamedKernel {
            name: kernel.name.clone(),
            op: kernel.op.clone(),
            operators,
            inputs: kernel.inputs.clone(),
            outputs: Vec::new(),
            cost: None,
        };
        let line = NamesLine::Found { plan: 0, operator: Box::new(operator), kernel: Box::new(kernel) };
        self.writer.names().add(&line);
    }

    /// Adds the name of a marker.
    pub fn marker(&mut self, id: NameId, name: &str) {
        self.writer.names().add(&NamesLine::marker(id, name));
    }

    /// Adds a counter.
    pub fn counter(&mut self, id: NameId, name: &str, unit: &str) {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        self.writer.names().add(&NamesLine::Counter { counter: id.0, name, unit });
    }

    /// Adds the name of a thread, or of a stream of a device.
    pub fn thread(&mut self, thread: ThreadId, name: &str) {
        self.writer.names().thread(thread, || Some(name.to_owned()));
    }

    /// Adds a record that ends at this moment.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn record<R: Record>(&mut self, record: &R, end: Ticks) -> Result<(), ProfileError> {
        self.store(R::KIND, record.as_bytes(), end)
    }

    /// Adds a dispatch with the operators that it was executed in, outermost first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn dispatch(&mut self, record: &DispatchRecord, path: &[Iteration]) -> Result<(), ProfileError> {
        let mut payload = record.as_bytes().to_vec();
        for level in path {
            let level = PathLevel { operator: level.operator.index() as u32, iteration: level.index };
            payload.extend_from_slice(level.as_bytes());
        }
        self.store(Kind::OperatorDispatch, &payload, record.end)
    }

    fn store(&mut self, kind: Kind, payload: &[u8], end: Ticks) -> Result<(), ProfileError> {
        if self.payload.len() + stored_length(payload.len()) > FRAME_MAX {
            self.write_frame()?;
        }
        let header = Header { category: Category::TRACING, kind: kind.as_raw(), length: payload.len() as u16 };
        store(header, payload, &mut self.payload);
        self.pending += 1;
        self.end = self.end.max(end.as_raw());
        Ok(())
    }

    fn write_frame(&mut self) -> Result<(), ProfileError> {
        let path = self.directory.join(RECORDS);
        self.frames.write(&self.payload, 0, self.clock(self.end)).map_err(ProfileError::io("write", path))?;
        self.payload.clear();
        self.delivered += std::mem::take(&mut self.pending);
        Ok(())
    }

    /// Returns the pair of clocks at a moment: a tick is a nanosecond.
    fn clock(&self, ticks: u64) -> ClockPair {
        let start = self.manifest.clock.start;
        let time = start.boottime_ns.saturating_add(ticks.saturating_sub(start.ticks));
        ClockPair { ticks: Ticks::from_raw(ticks), time: Timestamp::from_nanos_since_boot(time) }
    }

    /// Closes the recording. `manifest` is the last one: it is complete if it names no reason why not.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub fn finish(mut self, mut manifest: Manifest) -> Result<Manifest, ProfileError> {
        if !self.payload.is_empty() {
            self.write_frame()?;
        }
        manifest.incomplete_because.extend(self.writer.names().failure());
        manifest.complete = manifest.incomplete_because.is_empty();
        manifest.clock.end = Some(self.clock(self.end).into());
        manifest.records = Some(RecordCounts {
            emitted: self.delivered,
            delivered: self.delivered,
            bytes: self.frames.bytes(),
            frames: self.frames.frames(),
            ..RecordCounts::default()
        });
        self.writer.replace_manifest(&manifest)?;
        Ok(manifest)
    }
}
