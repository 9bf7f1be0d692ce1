use opscope_onnx::Graph;

use super::job::Job;
use super::report::FailedShapes;
use crate::inputs::{InputError, Inputs, ShapeWish};

/// The sets of shapes of a job.
pub(super) struct Sets<'a> {
    /// Those that fit the model, with the inputs.
    pub fitting: Vec<(&'a ShapeWish, Inputs)>,
    /// Those of a table that do not.
    pub failed: Vec<FailedShapes>,
    /// How many sets of a table give a dimension of one name two sizes: combinations that nobody means.
    pub left_out: u64,
}

impl<'a> Sets<'a> {
    /// Finds the inputs of every set. One set has to fit; of a table, one at least.
    pub fn of(job: &'a Job, graph: &Graph) -> Result<Self, InputError> {
        let mut sets = Self { fitting: Vec::new(), failed: Vec::new(), left_out: 0 };
        let mut refusal = None;
        for shapes in &job.shapes {
            match job.inputs.find(graph, shapes) {
                Ok(inputs) => sets.fitting.push((shapes, inputs)),
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
