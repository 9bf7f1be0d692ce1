//! A model's inputs: generated, given by the program, or read from files.

mod error;
mod files;
mod generate;
mod given;
mod shapes;

use opscope_onnx::Graph;
use opscope_tensor::Tensor;

pub use error::{InputError, InputFileError};
pub use files::InputFiles;
pub use generate::{Data, generate};
pub use given::GivenFiles;
pub use shapes::{NamedShape, ShapeSpec, concrete_shapes, made_up_dimensions};

/// The inputs of the runs, in order.
#[derive(Debug)]
pub enum Inputs {
    /// The same tensors for every run: generated ones, or those of the program.
    Same(Vec<Tensor>),
    /// Tensors for each run.
    Each(Vec<Vec<Tensor>>),
    /// Files, read for the run that needs them.
    Files(InputFiles),
}

/// The inputs of one run.
#[derive(Debug, Clone)]
pub struct Batch {
    /// One tensor for every input of the model.
    pub tensors: Vec<Tensor>,
    /// The files that were joined, for every input; empty for data that does not come from a file.
    pub sources: Vec<Vec<std::path::PathBuf>>,
}

impl Inputs {
    /// Returns the number of different runs.
    pub fn len(&self) -> usize {
        match self {
            Inputs::Same(_) => 1,
            Inputs::Each(sets) => sets.len(),
            Inputs::Files(files) => files.batches(),
        }
    }

    /// Returns whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the files, if the inputs are read from files.
    pub fn files(&self) -> Option<&InputFiles> {
        match self {
            Inputs::Same(_) | Inputs::Each(_) => None,
            Inputs::Files(files) => Some(files),
        }
    }

    /// Returns the inputs of a run.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or does not fit the model.
    pub fn batch(&self, graph: &Graph, index: usize) -> Result<Batch, InputError> {
        match self {
            Inputs::Same(tensors) => Ok(Batch { tensors: tensors.clone(), sources: Vec::new() }),
            Inputs::Each(sets) => Ok(Batch { tensors: sets[index].clone(), sources: Vec::new() }),
            Inputs::Files(files) => files.batch(graph, index),
        }
    }
}

/// Which inputs a model gets. It is chosen before the model is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSpec {
    /// Generated data.
    Generated(Data),
    /// The program's own tensors, in the order of the model's inputs.
    Given(Vec<Tensor>),
    /// Files or directories.
    Files {
        /// The files.
        paths: GivenFiles,
        /// Whether several files make one batch.
        join: bool,
    },
}

impl InputSpec {
    /// Returns the inputs for a model, and the shapes that they were found with. With [`ShapeSpec::OpenBatch`], files
    /// that do not make such a batch are used as they are.
    ///
    /// # Errors
    /// Returns an error if they do not fit the model.
    pub fn find(&self, graph: &Graph, shapes: &ShapeSpec) -> Result<(Inputs, ShapeSpec), InputError> {
        let find = |shapes: ShapeSpec| {
            let inputs = match self {
                Self::Generated(data) => Inputs::Same(generate(graph, &concrete_shapes(graph, &shapes)?, *data)?),
                Self::Given(tensors) => Inputs::Same(tensors.clone()),
                Self::Files { paths, join } => Inputs::Files(InputFiles::find(graph, paths, &shapes, *join)?),
            };
            Ok((inputs, shapes))
        };
        match (self, shapes) {
            (Self::Files { .. }, ShapeSpec::OpenBatch(batch)) => {
                find(ShapeSpec::Batch(*batch)).or_else(|_: InputError| find(ShapeSpec::Smallest))
            }
            _ => find(shapes.clone()),
        }
    }
}
