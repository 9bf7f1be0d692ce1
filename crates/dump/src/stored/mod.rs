//! Dumps that were taken before: our own, AscendCL's, and plain directories of `.npy` files.

mod ascend;
mod index;
pub(crate) mod inspect;
mod kept;
pub(crate) mod manifest;
pub(crate) mod order;
mod plain;
pub(crate) mod walk;

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
pub use kept::{KeepSink, Keeper};

/// A dump that was taken before: its tensors, in the order in which they came, without their data.
#[derive(Debug, Clone, Default)]
pub struct StoredDump {
    /// Where it is.
    pub path: PathBuf,
    /// What kind of dump it is.
    pub kind: DumpKind,
    /// The manifest; only dumps that opscope wrote have one.
    pub manifest: Option<Manifest>,
    /// Its tensors.
    pub tensors: Vec<StoredTensor>,
    /// What could not be read, and why. Everything else can be used.
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
    /// The type of its elements; `None` for types that are not known here.
    pub dtype: Option<DType>,
    /// Its shape.
    pub shape: Vec<usize>,
    /// The bytes of its data.
    pub bytes: u64,
    /// What the dump says of its numbers; only our own says something.
    pub noted: Option<IndexStatistics>,
    location: Location,
}

/// Where a tensor of a dump comes from, as far as the dump says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StoredOrigin {
    /// The run; `None` for what is the same in every run, and where the dump does not tell runs apart.
    pub run: Option<u64>,
    /// The operator's name.
    pub operator: Option<String>,
    /// The operator's type.
    pub op_type: Option<String>,
    /// Whether the operator takes or gives it.
    pub io: Option<Io>,
    /// Its slot.
    pub slot: Option<usize>,
    /// The value's name.
    pub value: Option<String>,
    /// The operator's place in the order of the graph.
    pub position: Option<usize>,
    /// For an operator in a loop, the iterations of the loops around it, outermost first.
    pub iterations: Vec<LoopIteration>,
    /// Where the operator lies in the program that the model was exported from, if the dump says so.
    pub code: Option<Arc<CodeOrigin>>,
}

/// Where a tensor's data is.
#[derive(Debug, Clone)]
enum Location {
    /// In a file, in our order of bytes and elements, from this offset.
    File(PathBuf, u64),
    /// In an `.npy` file of another order.
    Foreign(PathBuf),
    Memory(Arc<[u8]>),
    /// In a file that has no name.
    Unnamed(Arc<File>, u64),
    /// Nowhere: only its statistics were taken, or only its beginning.
    Nowhere(&'static str),
}

impl StoredDump {
    /// Returns the name of the engine that computed it, if the dump says so.
    pub fn engine(&self) -> Option<&str> {
        self.manifest.as_ref().map(|manifest| manifest.engine.name.as_str())
    }

    /// Opens a dump: a directory, or a single file of AscendCL's or numpy's.
    ///
    /// # Errors
    /// Returns an error if there is no dump.
    pub fn open(path: &Path) -> Result<Self, DumpError> {
        let wrong = |reason: String| DumpError::File { path: path.to_path_buf(), reason };
        let metadata = path.metadata().map_err(|error| wrong(format!("it cannot be read: {error}")))?;
        if !metadata.is_dir() && !metadata.is_file() {
            return Err(wrong("it is no directory and no regular file but a pipe or a device".into()));
        }
        if metadata.is_dir() && path.join(INDEX).symlink_metadata().is_ok() {
            return index::open(path);
        }
        let files = if metadata.is_dir() { walk::files(path)? } else { vec![path.to_path_buf()] };
        let ascend = ascend::open(path, &files);
        if !ascend.tensors.is_empty() {
            return Ok(ascend);
        }
        let npy = plain::open(path, &files);
        match (npy.tensors.is_empty(), ascend.problems.into_iter().chain(npy.problems.clone()).next()) {
            (false, _) => Ok(npy),
            (true, Some(problem)) => Err(wrong(problem)),
            (true, None) if metadata.is_file() => {
                Err(wrong("this is no dump file, no .npy file, and no other file that opscope knows; give a model (.onnx), a recording, a \
                     dump, an array or a summary".to_owned()))
            }
            (true, None) => Err(wrong(format!("there is no dump here: no {INDEX}, no dump file, no .npy file"))),
        }
    }
}

impl StoredDump {
    /// Returns whether it holds what it should: it could be read as a whole, and its manifest, where it has one, does
    /// not say otherwise.
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty() && self.manifest.as_ref().is_none_or(|manifest| manifest.complete)
    }
}

impl StoredDump {
    /// Returns whether it is of plain arrays. Nothing says what else there should be, so it has what somebody chose.
    pub(crate) fn is_selection(&self) -> bool {
        self.kind == DumpKind::Npy
    }

    /// Returns whether it tells runs apart.
    pub fn has_runs(&self) -> bool {
        self.tensors.iter().any(|tensor| tensor.place.run.is_some())
    }

    /// Why its manifest says that it is not complete; `None` where it does not say so.
    pub(crate) fn incomplete(&self) -> Option<String> {
        let manifest = self.manifest.as_ref().filter(|manifest| !manifest.complete)?;
        let missing = || missing_tensors(manifest.missing_count);
        let failed =
            || manifest.runs.iter().find_map(|run| Some(format!("run {} failed: {}", run.run, run.failure.as_ref()?)));
        Some(manifest.errors.first().cloned().or_else(failed).unwrap_or_else(missing))
    }
}

impl StoredTensor {
    /// Creates a tensor whose data is nowhere.
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
    /// The same as [`data`](Self::data), and if its type is not known.
    pub fn read(&self) -> io::Result<Tensor> {
        let dtype = self.dtype.ok_or_else(|| io::Error::other("the type of its elements is not known"))?;
        let mut bytes = Vec::new();
        self.data()?.read_to_end(&mut bytes)?;
        Tensor::new(dtype, self.shape.clone(), bytes).map_err(io::Error::other)
    }

    /// Returns how many elements it has.
    ///
    /// # Errors
    /// Returns an error if no machine could address so many: a damaged or hostile file can say anything.
    pub(crate) fn elements(&self) -> io::Result<usize> {
        let elements = self.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        elements.ok_or_else(|| io::Error::other(format!("the shape {:?} has too many elements", self.shape)))
    }

    /// Returns what is known of its numbers: what its data shows, or else what the dump says.
    ///
    /// # Errors
    /// The same as [`data`](Self::data), and if its type is not known.
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

    /// Returns the file that it is in.
    pub fn file(&self) -> Option<&Path> {
        match &self.location {
            Location::File(path, _) | Location::Foreign(path) => Some(path),
            _ => None,
        }
    }
}

impl StoredOrigin {
    /// Returns what to call the tensor: its value, or its operator and slot. In a loop, the iteration comes behind it:
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
    /// Returns the operator's name with the iteration behind it, if it is in a loop.
    pub(crate) fn operator_label(&self) -> Option<String> {
        Some(format!("{}{}", self.operator.as_ref()?, LoopIteration::indices(&self.iterations)))
    }

    /// Returns whether this place is in the iterations of another one, or in none of a loop around it.
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

/// Says that so many tensors of a dump are missing.
fn missing_tensors(count: u64) -> String {
    format!("{} {} missing", counted(count, "tensor"), if count == 1 { "is" } else { "are" })
}

/// Reads a file from a place without moving a position that others share.
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
