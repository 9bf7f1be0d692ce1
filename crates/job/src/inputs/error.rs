use std::io;
use std::path::{Path, PathBuf};

use opscope_tensor::npy::NpyError;
use opscope_tensor::npz::NpzError;
use opscope_tensor::{DType, TensorError};
use opscope_text::counted;

/// Why a file of inputs cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputFileError {
    /// Reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not a valid `.npy` file.
    #[error(transparent)]
    Npy(#[from] NpyError),
    /// It is not a valid `.npz` file.
    #[error(transparent)]
    Npz(#[from] NpzError),
    /// Its content does not make a tensor of that shape.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// It is a file of raw bytes, and the input has no type.
    #[error("the model does not say the input's type")]
    UnknownType,
}

impl InputFileError {
    /// Returns a function that turns the reason why a file cannot be read into an [`InputError`].
    pub(super) fn of<E: Into<Self>>(path: &Path) -> impl Fn(E) -> InputError {
        move |error| InputError::Read { path: path.to_owned(), source: error.into() }
    }
}

/// Why inputs cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// Something was given for a name that is not an input.
    #[error("there is no input '{name}' in this model; its inputs are {inputs}")]
    UnknownInput {
        /// The name that was given.
        name: String,
        /// The inputs with their shapes.
        inputs: String,
    },
    /// A shape that the model does not allow.
    #[error("input '{name}' has shape [{expected}], {found:?} does not fit")]
    Shape {
        /// The input.
        name: String,
        /// The shape in the model.
        expected: String,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// Shapes that contradict each other.
    #[error(
        "the model calls a dimension of input '{input}' '{dimension}', which is {first} elsewhere and {second} there; \
         give both the same size"
    )]
    TwoSizes {
        /// The dimension's name in the model.
        dimension: String,
        /// The second of the inputs.
        input: String,
        /// The size in the first place.
        first: usize,
        /// The size in this input.
        second: usize,
    },
    /// A tensor of this type cannot be generated.
    #[error("input '{name}' takes {dtype}, for which no data can be generated; give it with --input")]
    NoData {
        /// The input.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// An input of unknown rank.
    #[error(
        "the model does not say the shape of input '{name}'; give it with --dym-shape \"{name}:...\" or as npy with --input"
    )]
    UnknownShape {
        /// The input.
        name: String,
    },
    /// Raw bytes for an input whose shape is open.
    #[error(
        "{path:?} does not say its shape, and input '{name}' of shape [{shape}] leaves it open; give it with --dym-shape or --dym-batch"
    )]
    OpenShape {
        /// The file.
        path: PathBuf,
        /// The input.
        name: String,
        /// The shape in the model.
        shape: String,
    },
    /// More bytes than the machine's memory.
    #[error("input '{name}' would have the shape {shape:?}, for which there is no memory")]
    TooLarge {
        /// The input.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A wrong number of files or directories.
    #[error(
        "the model has {} ({names}), {given} {} given; give as many files, or a directory, for each",
        counted(.inputs, "input"), were(*.given, .what)
    )]
    Count {
        /// How many inputs the model has.
        inputs: usize,
        /// Their names.
        names: String,
        /// How many were given.
        given: usize,
        /// One of them: a file or a directory.
        what: &'static str,
    },
    /// Inputs for which nothing was given.
    #[error("nothing is given for {names}; write --input NAME=FILE for each input")]
    Unfed {
        /// The inputs.
        names: String,
    },
    /// An archive or a directory that lacks an input.
    #[error("{path:?} has nothing named '{input}'; it holds {holds}, and the inputs are {names}")]
    NotInIt {
        /// The archive or the directory.
        path: PathBuf,
        /// The input that it lacks.
        input: String,
        /// What it has.
        holds: String,
        /// The inputs that it should have.
        names: String,
    },
    /// Directories with different numbers of files.
    #[error("input '{first}' has {first_count} files, input '{other}' has {other_count}; every input needs as many")]
    Uneven {
        /// An input.
        first: String,
        /// Its number of files.
        first_count: usize,
        /// Another one.
        other: String,
        /// Its number of files.
        other_count: usize,
    },
    /// A directory without input files.
    #[error("there is no .npy or .bin file in {0:?}")]
    EmptyDirectory(PathBuf),
    /// Files, directories and archives together.
    #[error(
        "--input mixes files and directories or archives; give one kind, or say what each is for with --input NAME=PATH"
    )]
    Mixed,
    /// A file that cannot be read.
    #[error("the input file {path:?} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: InputFileError,
    },
    /// A file with another element type.
    #[error("{path:?} holds {found}, input '{name}' takes {expected}")]
    Type {
        /// The file.
        path: PathBuf,
        /// The input.
        name: String,
        /// What the input takes.
        expected: DType,
        /// What the file has.
        found: DType,
    },
    /// A file with another shape.
    #[error("{path:?} has the shape {found:?}, input '{name}' takes [{expected}]")]
    FileShape {
        /// The file.
        path: PathBuf,
        /// The input.
        name: String,
        /// What the input takes.
        expected: String,
        /// What the file has.
        found: Vec<usize>,
    },
    /// A raw file with another size.
    #[error(
        "{path:?} has {found} bytes, input '{name}' of shape {shape:?} has {expected}, which is not a multiple of that"
    )]
    FileSize {
        /// The file.
        path: PathBuf,
        /// The input.
        name: String,
        /// The shape of the input.
        shape: Vec<usize>,
        /// Its bytes.
        expected: usize,
        /// The file's bytes.
        found: usize,
    },
    /// Files that do not fill the last batch.
    #[error(
        "input '{name}' has a batch of {batch}, so {per_batch} files of {per_file} make one run; {files} files are not a \
         multiple of {per_batch}. Add files, leave some out, or choose another batch with --dym-batch"
    )]
    Batch {
        /// The input.
        name: String,
        /// The model's batch.
        batch: usize,
        /// Samples in a file.
        per_file: usize,
        /// Files in a run.
        per_batch: usize,
        /// How many files there are.
        files: usize,
    },
}

/// Returns the noun and the verb of a sentence about how many were given, without the number.
fn were(given: usize, what: &str) -> String {
    match (given, what) {
        (1, one) => format!("{one} was"),
        (_, "directory") => "directories were".to_owned(),
        (_, several) => format!("{several}s were"),
    }
}
