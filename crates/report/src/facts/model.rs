//! The drawing of the model, with a run's facts about its operators.

use opscope_onnx::{Graph, OnnxError};

use super::RunFacts;
use crate::graph::{KnownTypes, Marks, ModelGraph, Picture};

/// Why the graph of a run is not drawn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotDrawn {
    #[error("The graph of this run is not drawn: pages show at most {0} operators.")]
    TooManyOperators(usize),
    #[error("The graph is not drawn: the run does not say which model it ran; --model FILE gives it.")]
    NoModel,
    #[error("The graph is not drawn: {0} is not found here; --model FILE gives it.")]
    NotFound(String),
    #[error("The graph is not drawn: {0} has changed since the run; --model FILE gives it.")]
    Changed(String),
    #[error("The graph is not drawn: {0}.")]
    Unreadable(#[from] OnnxError),
}

impl RunFacts {
    /// Draws the run's model.
    pub(crate) fn draw(&mut self, graph: &Graph) {
        let graph = ModelGraph::of(graph, &self.types());
        self.picture = Some(Ok(Picture::of(&graph, &self.marks())));
    }

    /// Returns the types of values that are known.
    fn types(&self) -> KnownTypes {
        let mut types = self.dump.as_ref().map_or_else(KnownTypes::new, |dump| dump.types.clone());
        for input in self.summary.iter().flat_map(|summary| &summary.inputs) {
            let shape: Option<Vec<usize>> = input.shape.iter().map(|size| usize::try_from(*size).ok()).collect();
            if let Some(shape) = shape {
                types.entry(input.name.clone()).or_insert((input.dtype, shape));
            }
        }
        types
    }

    fn marks(&self) -> Marks {
        let mut marks = Marks::new(self.errors.clone());
        match &self.account {
            Some(account) => {
                for row in account.operators.iter().filter(|row| !row.added) {
                    let part = row.percent / 100.0 * account.run.median_ns;
                    marks.add_times(&row.operator, (row.median_ns, part), row.percent, &row.fused);
                }
            }
            None => {
                for row in self.operators.rows.iter().filter(|row| !row.added) {
                    marks.add_times(&row.name, (row.median, row.median), row.percent, &row.fused);
                }
            }
        }
        for row in self.dump.iter().flat_map(|dump| &dump.rows) {
            if row.io == "output" {
                marks.add_values(&row.operator, row.nan, row.inf, row.min.zip(row.max));
            } else {
                marks.add_input(&row.value, row.nan, row.inf, row.min.zip(row.max));
            }
        }
        marks
    }
}
