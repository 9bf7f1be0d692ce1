//! Finds the fastest plan that is right.
//!
//! An engine's optimiser can silently change what a model computes. So before a model is timed, it runs once exactly as
//! in the file, and the outputs of the optimised plan are compared with those of that run. If they differ, the engine's
//! weaker forms of the plan are tried until one is right. The values of the kernels are compared, too, which shows what
//! each fused kernel stands for. The result is kept in a cache, so that the next benchmark of the same file does not
//! repeat the search.

mod cache;
mod difference;
mod fingerprint;
mod random;
mod scale;
mod search;
mod steps;
mod trial;
mod value_steps;
mod values;
mod verification;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use opscope::Session;
use opscope::engine::EngineSpec;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions};
use opscope_tensor::Tensor;

use cache::Cache;
pub use difference::OutputDifference;
use random::random_operator;
use search::Search;
pub use value_steps::ValueSteps;
pub use values::{FoundOutput, FoundValue, find_values, with_random_numbers};
pub use verification::{KernelOutput, Outcome, Verification, WrongForm};

/// Whether an optimised plan is compared with the exact one before it is timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// If the comparison takes no longer than the timed runs and two seconds, and if its result is not in the cache.
    #[default]
    Auto,
    /// Always, however long it takes.
    On,
    /// Never: the engine's own plan runs.
    Off,
}

/// When to verify, and where results are stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyOptions {
    /// When to verify.
    pub when: Verify,
    /// A directory with a file of results for each model and shapes. With `None`, no results are stored.
    pub cache_directory: Option<PathBuf>,
    /// The engine whose exact plan is the reference. `None` means the session's own engine.
    pub reference: Option<EngineSpec>,
    /// The least time for which runs are timed, however short one run is.
    pub timed: Duration,
}

impl Verify {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Auto, Self::On, Self::Off];

    /// Returns `auto`, `on` or `off`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// Works like [`verify_against`], with the same engine's exact plan as the reference.
pub fn verify(
    session: &Session,
    inputs: &[Tensor],
    runs: u64,
    options: &VerifyOptions,
) -> Option<(Verification, Option<Session>)> {
    verify_against(None, session, inputs, runs, options)
}

/// Compares the session's optimised plan with the exact one of the `reference`, on `inputs`. Inputs whose elements are
/// all equal are replaced by random numbers. `runs` is the least number of timed runs that follow. Returns the result,
/// and the session to run if it is a different one.
///
/// Returns `None` if `options` say never, if there is nothing to compare, or if the model does not run at all. In the
/// last case the benchmark reports why.
pub fn verify_against(
    reference: Option<&Arc<dyn Engine>>,
    session: &Session,
    inputs: &[Tensor],
    runs: u64,
    options: &VerifyOptions,
) -> Option<(Verification, Option<Session>)> {
    let when = options.when;
    if when == Verify::Off || (session.model().fidelity() == Fidelity::Exact && reference.is_none()) {
        return None;
    }
    let named = reference.map(|engine| format!("{} {}", engine.name(), engine.version()));
    if let Some(operator) = random_operator(session.graph()) {
        let because = format!("{} ({}) draws random numbers", operator.name, operator.op_type);
        let skipped = Verification::of(Outcome::Skipped { because }, Vec::new());
        return Some((Verification { reference: named, ..skipped }, None));
    }
    let cache = Cache::of(session, reference, inputs, options.cache_directory.as_deref());
    if when == Verify::Auto
        && let Some(found) = cache.read()
    {
        let other = search::session_for(session, &found)?;
        return Some((found, other));
    }
    let start = Instant::now();
    let mut verification = Search::begin(session, reference, inputs, runs, options).run()?;
    verification.reference = named;
    verification.seconds = start.elapsed().as_secs_f64();
    if !matches!(verification.outcome, Outcome::Skipped { .. }) {
        cache.write(&verification);
    }
    let other = search::session_for(session, &verification)?;
    Some((verification, other))
}

/// Why a plan is not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotCompared {
    /// An operator draws random numbers.
    #[error("{name} ({op_type}) draws random numbers")]
    Random { name: String, op_type: String },
    /// The exact plan does not run.
    #[error(transparent)]
    Exact(#[from] EngineError),
    /// The engine has no optimised plans.
    #[error("the engine has no optimised plans")]
    NoPlan,
}

/// Compares the session's own optimised plan with its exact one, on these inputs and then on those that [`verify`]
/// compares them with. Returns what is wrong with the plan.
///
/// # Errors
/// Returns why there is nothing to compare: the exact plan does not run, or an operator draws random numbers.
pub(crate) fn own_plan(session: &Session, inputs: &[Tensor]) -> Result<Option<WrongForm>, NotCompared> {
    if let Some(operator) = random_operator(session.graph()) {
        return Err(NotCompared::Random { name: operator.name.clone(), op_type: operator.op_type.clone() });
    }
    match (Search::on(session, None, inputs).own()?, search::varied(inputs)) {
        (None, Some(varied)) => Search::on(session, None, &varied).own(),
        (found, _) => Ok(found),
    }
}

/// Loads the model of an optimised session again, together with the values that its kernels were found to compute when
/// running `inputs`. The new plans name values that the engine's own plan does not. This fails if the engine does not
/// show the values of optimised plans.
pub(crate) fn with_known_values(session: &Session, inputs: &[Tensor]) -> Result<Session, EngineError> {
    let exact = session.with_options(&LoadOptions::new(Fidelity::Exact, session.threads()))?;
    let runs = [inputs.to_vec(), with_random_numbers(inputs, 2)];
    let (kernels, outputs) = find_values(session, &exact, &runs, &ValueSteps::default())?;
    let known = verification::known(&values::kernel_outputs(session.graph(), &kernels, &outputs));
    session.with_options(&LoadOptions { known, ..LoadOptions::new(Fidelity::Optimised, session.threads()) })
}

#[cfg(test)]
mod tests;
