use std::time::{Duration, Instant};

use opscope_model::{EngineError, RunId};
use opscope_tensor::Tensor;

use super::deadline::Deadline;
use crate::Session;

/// One run of a plan.
pub(super) struct Trial {
    /// Its outputs; none for those that have no form as bytes.
    pub outputs: Vec<Option<Tensor>>,
    /// What making the plan took; nothing where there was one.
    pub planning: Duration,
    /// What the run took.
    pub time: Duration,
}

/// Plans and runs so many times, and takes the last run: an engine may forget to begin anew. Stops between two operators
/// when the deadline has passed.
///
/// # Errors
/// What the engine says, or [`EngineError::Stopped`] at the deadline.
pub(super) fn run_until(
    session: &Session,
    inputs: &[Tensor],
    runs: u64,
    deadline: Option<Instant>,
) -> Result<Trial, EngineError> {
    let start = Instant::now();
    let plan = session.model().plan(inputs)?;
    let planning = start.elapsed();
    let observer = Deadline(deadline);
    if observer.has_passed() {
        return Err(EngineError::Stopped("the deadline has passed".to_owned()));
    }
    let resident = plan.upload(inputs)?;
    for earlier in 1..runs {
        plan.run(RunId(earlier - 1), &*resident, &observer)?;
    }
    let start = Instant::now();
    let outputs = plan.run(RunId(runs - 1), &*resident, &observer)?;
    let time = start.elapsed();
    let outputs = (0..outputs.len()).map(|slot| outputs.view(slot).to_tensor().ok()).collect();
    Ok(Trial { outputs, planning, time })
}
