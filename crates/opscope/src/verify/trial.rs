use std::time::{Duration, Instant};

use opscope_model::{EngineError, RunId};
use opscope_tensor::Tensor;

use super::deadline::Deadline;
use crate::Session;

/// One run of a plan.
pub(super) struct Trial {
    /// Its outputs; `None` for those that have no form as bytes.
    pub outputs: Vec<Option<Tensor>>,
    /// The time that making the plan took; zero if there was one.
    pub planning: Duration,
    /// The time of the run.
    pub time: Duration,
}

/// Makes a plan, runs it `runs` times, and returns the last run: an engine may fail to reset its state between runs. Stops
/// between two operators when the deadline has passed.
///
/// # Errors
/// The engine's error, or [`EngineError::Stopped`] at the deadline.
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
