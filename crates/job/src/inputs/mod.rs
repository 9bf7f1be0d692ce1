//! A model's inputs: generated, given by the program, or read from files.

mod error;
mod files;
mod generate;
mod given;
mod shapes;
mod spec;

use opscope_onnx::Graph;
use opscope_tensor::Tensor;

pub use error::{InputError, InputFileError};
pub use files::InputFiles;
pub use generate::{Data, generate};
pub use given::GivenFiles;
pub use shapes::{NamedShape, ShapeSpec, concrete_shapes, made_up_dimensions};
pub use spec::InputSpec;

/// The inputs of the runs, in order.
#[derive(Debug)]
pub enum Inputs {
    /// The same tensors for every run: generated ones, or those of the program.
    Same(Vec<Tensor>),
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
            Inputs::Same(_) => None,
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
            Inputs::Files(files) => files.batch(graph, index),
        }
    }
}
