use opscope_onnx::Graph;

use crate::benchmark::job::Job;
use crate::benchmark::report::FailedShapes;
use crate::inputs::{InputError, Inputs, ShapeSpec};

/// The sets of shapes of a job, each with its inputs.
pub(super) struct ShapeSets {
    /// The sets that fit the model.
    pub fitting: Vec<(ShapeSpec, Inputs)>,
    /// The sets of a table that do not fit.
    pub failed: Vec<FailedShapes>,
    /// The number of sets of a table that give a dimension of one name two sizes. Such combinations are not intended.
    pub left_out: u64,
}

impl ShapeSets {
    /// Finds the inputs of every set.
    ///
    /// # Errors
    /// Returns the first error if no set fits the model.
    pub fn of(job: &Job, graph: &Graph) -> Result<Self, InputError> {
        let mut sets = Self { fitting: Vec::new(), failed: Vec::new(), left_out: 0 };
        let mut refusal = None;
        for shapes in &job.shapes {
            match job.inputs.find(graph, shapes) {
                Ok((inputs, shapes)) => sets.fitting.push((shapes, inputs)),
                Err(error) => {
                    match error {
                        InputError::TwoSizes { .. } => sets.left_out += 1,
                        _ => sets.failed.push(FailedShapes { shapes: shapes.to_string(), reason: error.to_string() }),
                    }
                    refusal.get_or_insert(error);
                }
            }
        }
        match refusal {
            Some(refusal) if sets.fitting.is_empty() => Err(refusal),
            _ => Ok(sets),
        }
    }
}
