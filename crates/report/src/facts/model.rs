//! The model as a picture: what a run says of its operators.

use opscope_dump::{CompareOptions, Comparison, Io, StoredDump};
use opscope_onnx::Graph;

use super::RunFacts;
use crate::ReportError;
use crate::graph::{KnownTypes, Marks, ModelGraph, Picture};

impl RunFacts {
    /// Draws the run's model.
    pub(crate) fn draw(&mut self, graph: &Graph) {
        let graph = ModelGraph::of(graph, &self.types());
        self.picture = Some(Ok(Picture::of(&graph, &self.marks())));
    }

    /// Finds out how far what the operators of its dump give is from that of another run's dump.
    pub(crate) fn compare_values(&mut self, reference: &Self) -> Result<(), ReportError> {
        let (Some(dump), Some(other)) = (&self.paths.dump, &reference.paths.dump) else { return Ok(()) };
        let [dump, other] = [StoredDump::open(dump)?, StoredDump::open(other)?];
        let comparison = Comparison::of(&dump, &other, &CompareOptions::default());
        for row in &comparison.rows {
            let (Some(operator), Some(difference)) = (&row.place.operator, row.difference()) else { continue };
            if row.place.io != Some(Io::Output) {
                continue;
            }
            // Nothing is far from zero: what differs from zeros differs as a whole.
            let error = match difference.max_reference {
                largest if largest > 0.0 => difference.max_absolute / largest,
                _ => f64::from(difference.max_absolute > 0.0),
            };
            let known = self.errors.entry(operator.clone()).or_default();
            *known = known.max(error);
        }
        Ok(())
    }

    /// Returns the types of values that are known.
    fn types(&self) -> KnownTypes {
        let mut types = self.dump.as_ref().map_or_else(KnownTypes::new, |dump| dump.types.clone());
        for input in self.summary.iter().flat_map(|summary| &summary.inputs) {
            let shape: Option<Vec<usize>> = input.shape.iter().map(|size| usize::try_from(*size).ok()).collect();
            if let (Ok(dtype), Some(shape)) = (input.dtype.parse(), shape) {
                types.entry(input.name.clone()).or_insert((dtype, shape));
            }
        }
        types
    }

    fn marks(&self) -> Marks {
        let mut marks = Marks::new(self.errors.clone());
        match &self.account {
            Some(account) => {
                for row in account.operators.iter().filter(|row| !row.added) {
                    marks.add_times(&row.operator, row.mean_ns, row.percent, &row.fused);
                }
            }
            None => {
                for row in self.operators.rows.iter().filter(|row| !row.added) {
                    marks.add_times(&row.name, row.mean, row.percent, &row.fused);
                }
            }
        }
        for row in self.dump.iter().flat_map(|dump| &dump.rows).filter(|row| row.io == "output") {
            marks.add_values(&row.operator, row.nan, row.inf, row.min.zip(row.max));
        }
        marks
    }
}
