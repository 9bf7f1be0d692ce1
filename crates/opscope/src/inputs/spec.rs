use opscope_onnx::Graph;

use super::{Data, GivenFiles, InputError, InputFiles, Inputs, ShapeSpec, concrete_shapes, generate};

/// Which inputs a model gets, before the model is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputSpec {
    /// Generated data.
    Generated(Data),
    /// Files or directories.
    Files {
        /// The files.
        paths: GivenFiles,
        /// Whether several files make one batch.
        join: bool,
    },
}

impl InputSpec {
    /// The inputs for a model.
    ///
    /// # Errors
    /// Returns an error if they do not fit the model.
    pub fn find(&self, graph: &Graph, shapes: &ShapeSpec) -> Result<Inputs, InputError> {
        match self {
            Self::Generated(data) => Ok(Inputs::Generated(generate(graph, &concrete_shapes(graph, shapes)?, *data)?)),
            Self::Files { paths, join } => {
                let find = |shapes| InputFiles::find(graph, paths, shapes, *join);
                let found = match shapes {
                    // The files are as they are where they make no such batch.
                    ShapeSpec::OpenBatch(batch) => {
                        find(&ShapeSpec::Batch(*batch)).or_else(|_| find(&ShapeSpec::Smallest))
                    }
                    shapes => find(shapes),
                };
                Ok(Inputs::Files(found?))
            }
        }
    }
}
