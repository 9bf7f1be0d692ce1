//! The fastest plan that is right.
//!
//! An engine's optimiser can change what a model computes, without a word. So before a model is timed, it runs once as the
//! file has it, and the outputs of the optimised plan are compared with that run's. Where they differ, the engine's weaker
//! forms of the plan are tried until one is right. On the way the values of the kernels are compared, too, which tells what
//! each fused kernel stands for. What was found is kept, so that the next benchmark of the same file does not look again.

mod deadline;
mod differs;
mod fingerprint;
mod kept;
mod search;
mod trial;
mod values;
mod verification;

use std::path::PathBuf;
use std::time::Instant;

use opscope_model::{EngineError, Fidelity, LoadOptions};
use opscope_tensor::Tensor;

pub use differs::OutputDifference;
pub use values::{FoundOutput, FoundValue, find_values, other_numbers};
pub use verification::{KernelOutput, Outcome, Verification, WrongForm};

use crate::Session;
use kept::Kept;
use search::Search;

/// Whether an optimised plan is compared with the exact one before it is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Where that takes no longer than the timed runs and two seconds, and was not done before.
    #[default]
    Auto,
    /// Always, however long it takes.
    On,
    /// Never: the engine's own plan runs.
    Off,
}

/// When to verify, and where what was found is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyOptions {
    /// When.
    pub when: Verify,
    /// A directory of files, one for each model and shapes; nothing is kept if none.
    pub kept_in: Option<PathBuf>,
}

impl Verify {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::On, Self::Off];

    /// `auto`, `on` or `off`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// Compares the session's optimised plan with the exact one, on `inputs`; where those are all of one number, as made-up ones
/// are, with random numbers in them. `runs` is how many runs will be timed. Returns what came out, and the session to run
/// where that is another one.
///
/// Returns `None` where the model does not run at all: the benchmark itself says why.
pub fn verify(
    session: &Session,
    inputs: &[Tensor],
    runs: u64,
    options: &VerifyOptions,
) -> Option<(Verification, Option<Session>)> {
    let when = options.when;
    if when == Verify::Off || session.model().fidelity() == Fidelity::Exact {
        return None;
    }
    let kept = Kept::of(session, inputs, options.kept_in.as_deref());
    if when == Verify::Auto
        && let Some(found) = kept.read()
    {
        let other = search::session_for(session, &found)?;
        return Some((found, other));
    }
    let start = Instant::now();
    let mut verification = Search::begin(session, inputs, runs, when).run()?;
    verification.seconds = start.elapsed().as_secs_f64();
    if !matches!(verification.outcome, Outcome::Skipped { .. }) {
        kept.write(&verification);
    }
    let other = search::session_for(session, &verification)?;
    Some((verification, other))
}

/// The model of an optimised session with what a look at the values of `inputs` shows of the kernels: that names values that the
/// engine's own plan does not.
pub(crate) fn with_known_values(session: &Session, inputs: &[Tensor]) -> Result<Session, EngineError> {
    let exact = session.with_options(&LoadOptions::new(Fidelity::Exact, session.threads()))?;
    let runs = [inputs.to_vec(), other_numbers(inputs, 2)];
    let (kernels, outputs) = find_values(session, &exact, &runs)?;
    let known = verification::known(&values::kernel_outputs(session.graph(), &kernels, &outputs));
    session.with_options(&LoadOptions { known, ..LoadOptions::new(Fidelity::Optimised, session.threads()) })
}
