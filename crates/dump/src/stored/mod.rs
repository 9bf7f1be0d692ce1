//! Stored dumps: our own, AscendCL's, and plain directories of `.npy` files.

mod ascend;
pub(crate) mod index;
pub(crate) mod inspect;
mod keep_sink;
pub(crate) mod manifest;
mod npy_files;
mod program;
mod ranks;

use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_files::open_regular;
use opscope_model::LoopIteration;
use opscope_onnx::CodeOrigin;
use opscope_tensor::{DType, Tensor, npy};
use opscope_text::counted;

use crate::{DumpError, INDEX, IndexStatistics, Io, Manifest};
pub(crate) use index::LONGEST_LINE;
pub use keep_sink::{KeepSink, Keeper};
pub use program::ProgramInput;
pub use ranks::{Shards, WrongShards};

/// A stored dump: its tensors, in the order in which they were written, without their data.
#[derive(Debug, Clone, Default)]
pub struct StoredDump {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: DumpKind,
    /// The manifest. Only dumps that opscope wrote have one.
    pub manifest: Option<Manifest>,
    /// Its tensors.
    pub tensors: Vec<StoredTensor>,
    /// The parts that could not be read, and why. Everything else can be used.
    pub problems: Vec<String>,
}

/// The kinds of dumps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DumpKind {
    /// A directory with `index.jsonl`.
    Opscope,
    /// AscendCL's dump files.
    AscendCl,
    /// `.npy` files.
    #[default]
    Npy,
    /// Kept by this process.
    Kept,
}

/// A tensor of a dump.
#[derive(Debug, Clone)]
pub struct StoredTensor {
    /// Where it comes from.
    pub place: StoredOrigin,
    /// The type of its elements; `None` if it is unknown.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The size of its data in bytes.
    pub bytes: u64,
    /// The statistics in the dump. Only our own dumps have them.
    pub noted: Option<IndexStatistics>,
    location: Location,
}

/// What a dump says about the origin of a tensor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StoredOrigin {
    /// The run; `None` for a tensor that is the same in every run, and if the dump does not distinguish runs.
    pub run: Option<u64>,
    /// The operator's name.
    pub operator: Option<String>,
    /// The operator's type.
    pub op_type: Option<String>,
    /// Whether it is an input or an output of the operator.
    pub io: Option<Io>,
    /// Its slot.
    pub slot: Option<usize>,
    /// The value's name.
    pub value: Option<String>,
    /// The operator's place in the order of the graph.
    pub position: Option<usize>,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    pub iterations: Vec<LoopIteration>,
    /// The phase of a training step, if the dump is of a program that was watched while it ran.
    pub phase: Option<String>,
    /// The values that the operator took, by slot, if the dump says so.
    pub inputs: Vec<Option<String>>,
    /// Where the operator lies in the program that the model was exported from, if the dump says so.
    pub code: Option<Arc<CodeOrigin>>,
}

/// Where a tensor's data is.
#[derive(Debug, Clone)]
enum Location {
    /// In a file, in our order of bytes and elements, from this offset.
    File(PathBuf, u64),
    /// In an `.npy` file with another element or byte order.
    Foreign(PathBuf),
    Memory(Arc<[u8]>),
    /// In an unnamed file.
    Unnamed(Arc<File>, u64),
    /// Nowhere: the dump has only its statistics, or only its beginning.
    Nowhere(&'static str),
}

impl StoredDump {
    /// Returns the name of the engine that computed it, if the dump has it.
    pub fn engine(&self) -> Option<&str> {
        self.manifest.as_ref().map(|manifest| manifest.engine.name.as_str())
    }

    /// Opens a dump: a directory, or a single file in AscendCL's or numpy's format.
    ///
    /// # Errors
    /// Returns an error if there is no dump.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::file(path, reason);
        let metadata = path.metadata().map_err(DumpError::io(path, "it cannot be read"))?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(wrong("it is neither a directory nor a regular file but a pipe or a device".into()));
        }
        if metadata.is_dir() && path.join(INDEX).symlink_metadata().is_ok() {
            return index::open(path);
        }
        let files = if metadata.is_dir() { manifest::files(path)? } else { vec![path.to_path_buf()] };
        let ascend = ascend::open(path, &files);
        if !ascend.tensors.is_empty() {
            return Ok(ascend);
        }
        let npy = npy_files::open(path, &files);
        match (npy.tensors.is_empty(), ascend.problems.into_iter().chain(npy.problems.clone()).next()) {
            (false, _) => Ok(npy),
            (true, Some(problem)) => Err(wrong(problem)),
            (true, None) if metadata.is_file() => {
                Err(wrong("this is not a dump file, not a .npy file, and no other file that opscope knows; give a model (.onnx), a recording, a \
                     dump, an array or a summary".to_owned()))
            }
            (true, None) => Err(wrong(format!("there is no dump here: no {INDEX}, no dump file, no .npy file"))),
        }
    }
}

impl StoredDump {
    /// Returns whether it is complete: all of it could be read, and its manifest, if it has one, does not contradict
    /// that.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty() && self.manifest.as_ref().is_none_or(|manifest| manifest.complete)
    }
}

impl StoredDump {
    /// Returns whether it consists of plain arrays. It may be any selection, because no manifest says what should be
    /// there.
    pub(crate) fn is_selection(&self) -> bool {
        self.kind == DumpKind::Npy
    }

    /// Returns whether it distinguishes runs.
    pub fn has_runs(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.place.run.is_some())
    }

    /// Returns why it is not complete according to its manifest; `None` if the manifest does not say so.
    pub(crate) fn incomplete(&self) -> Option<String> {
        let manifest = self.manifest.as_ref().filter(|manifest| !manifest.complete)?;
        let missing = || missing_tensors(manifest.missing_count);
        let failed =
            || manifest.runs.iter().find_map(|run| Some(format!("run {} failed: {}", run.run, run.failure.as_ref()?)));
        Some(manifest.errors.first().cloned().or_else(failed).unwrap_or_else(missing))
    }
}

impl StoredTensor {
    /// Creates a tensor without data.
    #[cfg(test)]
    pub(crate) fn without_data(place: StoredOrigin, dtype: DType) -> Self {
        let location = Location::Nowhere("it was never taken");
        Self { place, dtype: Some(dtype), shape: Vec::new(), bytes: 0, noted: None, location }
    }

    /// Reads the data from its beginning: little-endian, row-major, [`bytes`](Self::bytes) long.
    ///
    /// # Errors
    /// Returns an error if the dump does not have it, or the file cannot be read.
    pub fn data(&self) -> io::Result<Box<dyn Read + Send>> {
        let from = |file: Arc<File>, at: u64| Box::new(At { file, at }.take(self.bytes));
        Ok(match &self.location {
            Location::File(path, offset) => from(Arc::new(open_regular(path)?), *offset),
            Location::Foreign(path) => npy::data(path).map_err(io::Error::other)?,
            Location::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Location::Unnamed(file, offset) => from(Arc::clone(file), *offset),
            Location::Nowhere(why) => return Err(io::Error::other(*why)),
        })
    }

    /// Returns the whole tensor.
    ///
    /// # Errors
    /// As [`data`](Self::data). Also returns an error if its type is not known.
    pub fn read(&self) -> io::Result<Tensor> {
        let dtype = self.dtype.ok_or_else(|| io::Error::other("the type of its elements is not known"))?;
        let mut bytes = Vec::new();
        self.data()?.read_to_end(&mut bytes)?;
        Tensor::new(dtype, self.shape.clone(), bytes).map_err(io::Error::other)
    }

    /// Returns how many elements it has.
    ///
    /// # Errors
    /// Returns an error if no machine can address that many, because a damaged or hostile file can contain any number.
    pub(crate) fn elements(&self) -> io::Result<usize> {
        let elements = self.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        elements.ok_or_else(|| io::Error::other(format!("the shape {:?} has too many elements", self.shape)))
    }

    /// Returns its statistics: those of its data or, if there is none, those in the dump.
    ///
    /// # Errors
    /// As [`data`](Self::data). Also returns an error if its type is not known.
    pub(crate) fn summary(&self) -> io::Result<IndexStatistics> {
        match (&self.location, &self.noted) {
            (Location::Nowhere(_), Some(noted)) => Ok(noted.clone()),
            _ => Ok(IndexStatistics::from(&crate::Details::of(self)?.statistics)),
        }
    }

    /// Returns whether the dump has only statistics of it.
    pub(crate) fn is_summary(&self) -> bool {
        matches!(self.location, Location::Nowhere(_)) && self.noted.is_some()
    }

    /// Returns the file that has its data in our order of bytes and elements, and where in the file it begins. Returns
    /// `None` for data that has to be [read](Self::read): of another order, or in no file with a name.
    pub fn native_file(&self) -> Option<(&Path, u64)> {
        match &self.location {
            Location::File(path, offset) => Some((path, *offset)),
            _ => None,
        }
    }

    /// Returns the file that it is in.
    pub fn file(&self) -> Option<&Path> {
        match &self.location {
            Location::File(path, _) | Location::Foreign(path) => Some(path),
            _ => None,
        }
    }
}

impl StoredOrigin {
    /// Returns the label of the tensor: its value, or its operator and slot. In a loop, the iteration follows:
    /// `Loop_3/sum[17]`.
    pub fn label(&self) -> String {
        let indices = LoopIteration::indices(&self.iterations);
        match (&self.value, &self.operator) {
            (Some(value), _) => format!("{value}{indices}"),
            (None, Some(operator)) => {
                let io = self.io.map_or("tensor", Io::name);
                format!("{operator}{indices}:{io}{}", self.slot.unwrap_or(0))
            }
            (None, None) => "?".into(),
        }
    }
}

impl StoredOrigin {
    /// Returns the operator's name, followed by the iteration if it is in a loop.
    pub(crate) fn operator_label(&self) -> Option<String> {
        Some(format!("{}{}", self.operator.as_ref()?, LoopIteration::indices(&self.iterations)))
    }

    /// Returns whether the iterations of this origin are those of the other one, or enclose them.
    pub(crate) fn is_around(&self, other: &Self) -> bool {
        other.iterations.starts_with(&self.iterations)
    }
}

impl fmt::Display for StoredOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.label())?;
        let slot = self.io.zip(self.slot).map(|(io, slot)| format!("{io} {slot}"));
        let operator = self.operator_label().map(|operator| format!("operator '{operator}'"));
        let place = [slot, operator].into_iter().flatten().collect::<Vec<_>>().join(" of ");
        let run = self.run.map(|run| format!("run {run}"));
        let known: Vec<String> = [place].into_iter().chain(run).filter(|part| !part.is_empty()).collect();
        if known.is_empty() { Ok(()) } else { write!(f, " ({})", known.join(", ")) }
    }
}

/// Returns the sentence that this many tensors of a dump are missing.
fn missing_tensors(count: u64) -> String {
    format!("{} {} missing", counted(count, "tensor"), if count == 1 { "is" } else { "are" })
}

/// Reads a file from an offset, without moving the shared position of the file.
struct At {
    file: Arc<File>,
    at: u64,
}

impl Read for At {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
