use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use super::{Data, GivenFiles, InputError, InputFiles, Inputs, ShapeSpec, concrete_shapes, generate};

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
