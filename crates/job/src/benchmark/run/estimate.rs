use opscope::SessionError;
use opscope_dump::Estimate;

use super::shape_sets::ShapeSets;
use crate::benchmark::error::JobError;
use crate::benchmark::job::{CaptureSpec, Job};
use crate::inputs::{Inputs, ShapeSpec};

impl Job {
    /// Returns the size of the dump for each set of shapes, without running the model. Empty if the job dumps nothing.
    ///
    /// # Errors
    /// Returns an error if the model, its inputs or the selection cannot be used.
    pub fn estimate(&self) -> Result<Vec<Estimate>, JobError> {
        let CaptureSpec::Dump { request, .. } = &self.capture else { return Ok(Vec::new()) };
        let session = self.load()?;
        request.selection.check(session.graph(), u64::MAX).map_err(JobError::Selection)?;
        let estimate = |(_, inputs): &(ShapeSpec, Inputs)| {
            let runs = self.repetition.loops.saturating_mul(inputs.len() as u64);
            let batch = inputs.batch(session.graph(), 0)?;
            let plan = session.model().plan(&batch.tensors).map_err(SessionError::from)?;
            Estimate::of(&request.selection, &**session.model(), &*plan, runs).map_err(JobError::Estimate)
        };
        ShapeSets::of(self, session.graph())?.fitting.iter().map(estimate).collect()
    }
}
