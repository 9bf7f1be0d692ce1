use std::time::{Duration, Instant};

use opscope_model::{EngineError, Fidelity, LoadOptions, PlanForm};
use opscope_onnx::shown_size;
use opscope_tensor::{DType, Tensor};

use super::differs::Judge;
use super::trial::{Trial, run_until};
use super::values::{find_values, kernel_outputs, other_numbers};
use super::{Outcome, Verification, Verify, WrongForm};
use crate::{Session, machine};

/// What a comparison may take beside the time of the runs that are measured.
const GRACE: Duration = Duration::from_secs(2);

/// Looking at values takes about as long as so many exact runs.
const RUNS_TO_LOOK: u32 = 6;

/// The name of the form that runs the exact plan.
const EXACT: &str = "the exact plan";

/// The search for the fastest plan that is right.
pub(super) struct Search<'a> {
    session: &'a Session,
    inputs: Vec<Tensor>,
    /// What the engine's own plan gives.
    own: Result<Trial, EngineError>,
    deadline: Option<Instant>,
    skipped: Option<String>,
}

impl<'a> Search<'a> {
    /// Runs the engine's own plan, and finds how long the rest may take.
    pub fn begin(session: &'a Session, inputs: &[Tensor], runs: u64, when: Verify) -> Self {
        let mut own = None;
        let mut used = inputs.to_vec();
        if let Some(varied) = varied(inputs) {
            // These may be numbers that the graph cannot take; then the given ones are used.
            if let Ok(trial) = run_until(session, &varied, 2, None) {
                (own, used) = (Some(trial), varied);
            }
        }
        let own = own.map_or_else(|| run_until(session, &used, 2, None), Ok);
        let mut search = Self { session, inputs: used, own, deadline: None, skipped: None };
        if when == Verify::Auto {
            search.limit(runs);
        }
        search
    }

    /// Finds until when it may go on, and whether it is worth beginning.
    fn limit(&mut self, runs: u64) {
        let own = self.own.as_ref().ok();
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        let budget = own.map_or(Duration::ZERO, |own| own.time.saturating_mul(runs)).saturating_add(GRACE);
        // The exact plan takes no longer to make than the optimised one.
        if own.is_some_and(|own| own.planning > budget) {
            self.skipped = Some(TOO_LONG.to_owned());
        }
        let needed = exact_memory(self.session);
        if needed > machine::available_memory() {
            self.skipped = Some(format!("the exact plan would need {} of memory", shown_size(needed)));
        }
        self.deadline = Instant::now().checked_add(budget);
    }

    /// Compares form after form, until one is right. Returns `None` where the exact plan does not run either.
    pub fn run(self) -> Option<Verification> {
        // The exact plan would be over it, too.
        if matches!(self.own, Err(EngineError::OverBudget { .. })) {
            return None;
        }
        let skipped = |because| Some(Verification::of(Outcome::Skipped { because }, Vec::new()));
        if let Some(because) = self.skipped {
            return skipped(because);
        }
        let exact = self.session.with_options(&self.session.options(Fidelity::Exact)).ok()?;
        let reference = match run_until(&exact, &self.inputs, 1, self.deadline) {
            Ok(reference) => reference,
            Err(EngineError::Stopped(_)) => return skipped(TOO_LONG.to_owned()),
            Err(_) => return None,
        };
        let judge = Judge::of(self.session.graph());
        let judged = |form: &PlanForm, trial: Result<Trial, EngineError>| {
            judge_form(&judge, self.session, form, &reference, trial)
        };
        let forms = self.session.engine().forms();
        let (own, weaker) = forms.split_first()?;
        let mut wrong = Vec::new();
        let right =
            |form: &PlanForm, largest_difference| Outcome::Right { form: form.name().to_owned(), largest_difference };
        let outcome = match judged(own, self.own) {
            Ok(largest) => right(own, largest),
            Err(found) => {
                wrong.push(found);
                let mut found = None;
                for form in weaker {
                    let trial = self
                        .session
                        .in_form(form.clone())
                        .and_then(|session| run_until(&session, &self.inputs, 2, None));
                    match judged(form, trial) {
                        Ok(largest) => {
                            found = Some(right(form, largest));
                            break;
                        }
                        Err(other) => wrong.push(other),
                    }
                }
                found.unwrap_or_else(|| right(&PlanForm::new(EXACT), 0.0))
            }
        };
        let mut verification = Verification::of(outcome, wrong);
        let may_look = self.deadline.is_none_or(|deadline| Instant::now() + reference.time * RUNS_TO_LOOK < deadline);
        if may_look && let Some(session) = session_for(self.session, &verification) {
            let session = session.as_ref().unwrap_or(self.session);
            let runs = [self.inputs.clone(), other_numbers(&self.inputs, 2)];
            if let Ok((kernels, outputs)) = find_values(session, &exact, &runs) {
                verification.kernels = kernel_outputs(session.graph(), &kernels, &outputs);
            }
        }
        Some(verification)
    }
}

/// Why a comparison is skipped.
const TOO_LONG: &str = "that would take longer than the timed runs and two seconds; --verify on does it";

/// The session to run after a verification, where it is another one. Returns `None` where it cannot be loaded.
pub(super) fn session_for(session: &Session, verification: &Verification) -> Option<Option<Session>> {
    let Outcome::Right { form, .. } = &verification.outcome else { return Some(None) };
    if form == EXACT {
        return session.with_options(&session.options(Fidelity::Exact)).ok().map(Some);
    }
    if verification.wrong.is_empty() && verification.kernels.is_empty() {
        return Some(None);
    }
    let options = LoadOptions {
        form: Some(PlanForm::new(form.clone())),
        known: verification.known(),
        ..session.options(Fidelity::Optimised)
    };
    session.with_options(&options).ok().map(Some)
}

/// Whether a form gives what the reference gives: the largest difference, or what is wrong.
fn judge_form(
    judge: &Judge,
    session: &Session,
    form: &PlanForm,
    reference: &Trial,
    trial: Result<Trial, EngineError>,
) -> Result<f64, WrongForm> {
    let wrong = |outputs, fails_with, run_ms| WrongForm { form: form.name().to_owned(), outputs, fails_with, run_ms };
    let trial = trial.map_err(|error| wrong(Vec::new(), Some(error.to_string()), None))?;
    let (largest, outputs) = judge.compare(session.graph(), &trial.outputs, &reference.outputs);
    if outputs.is_empty() { Ok(largest) } else { Err(wrong(outputs, None, Some(trial.time.as_secs_f64() * 1e3))) }
}

/// Random numbers in the place of floating-point inputs that are all equal, such as the zeros that a benchmark makes up:
/// with those, most operators give the same whatever they do. Returns `None` where there are no such inputs.
fn varied(inputs: &[Tensor]) -> Option<Vec<Tensor>> {
    let is_uniform = |tensor: &Tensor| {
        let size = tensor.dtype().size().unwrap_or(0);
        size > 0 && tensor.bytes().chunks(size).all(|element| element == &tensor.bytes()[..size])
    };
    let is_float = |tensor: &Tensor| matches!(tensor.dtype(), DType::F16 | DType::F32 | DType::F64);
    if !inputs.iter().any(|input| is_float(input) && is_uniform(input)) {
        return None;
    }
    let random = other_numbers(inputs, 1);
    Some(
        inputs
            .iter()
            .zip(random)
            .map(|(given, random)| if is_uniform(given) { random } else { given.clone() })
            .collect(),
    )
}

/// Bytes that a second plan of the model would take, roughly: the file, and as much again for what is made of it.
fn exact_memory(session: &Session) -> u64 {
    session.graph().source.bytes.len() as u64 * 2
}
