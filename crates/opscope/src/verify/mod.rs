//! The fastest plan that is right.
//!
//! An engine's optimiser can change what a model computes, without a word. So before a model is timed, it runs once as the
//! file has it, and the outputs of the optimised plan are compared with that run's. Where they differ, the engine's weaker
//! forms of the plan are tried until one is right. What was found is kept, so that the next benchmark of the same file does
//! not look again.

mod deadline;
mod differs;
mod fingerprint;
mod kept;
mod trial;
mod values;

use std::str::FromStr;
use std::time::{Duration, Instant};

use opscope_model::{EngineError, Fidelity, LoadOptions, PlanForm};
use opscope_tensor::{DType, Tensor};
use serde::{Deserialize, Serialize};

use crate::{Session, machine};
use differs::Judge;
pub use differs::OutputDifference;
use kept::Kept;
use trial::{Trial, run_until};
pub use values::{FoundOutput, FoundValue, find_values, other_numbers};

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

/// What comparing the optimised plan with the exact one has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// What came out.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The forms that are not right, the engine's own first, with what they give.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongForm>,
    /// Seconds that it took.
    pub seconds: f64,
    /// The day on which it was found, where it was kept from an earlier benchmark: `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_since: Option<String>,
}

/// What came out of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The plan that runs gives what the exact plan gives.
    Right {
        /// Its form.
        form: String,
        /// The largest difference of an output, as a share of the output's largest element.
        largest_difference: f64,
    },
    /// It was not compared.
    Skipped {
        /// Why not.
        because: String,
    },
}

/// A form of the plan that is not right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrongForm {
    /// Its name.
    pub form: String,
    /// The outputs that differ; empty where it does not run at all.
    pub outputs: Vec<OutputDifference>,
    /// Why it does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_with: Option<String>,
    /// Milliseconds of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<f64>,
}

impl WrongForm {
    fn sentence(&self) -> String {
        if let Some(reason) = &self.fails_with {
            return format!("the engine's plan with {} does not run: {reason}", self.form);
        }
        let output = |output: &OutputDifference| match (&output.because, output.of_largest) {
            (Some(because), _) => format!("{} ({because})", output.output),
            (None, Some(share)) => format!("{} by {share:.2} of its largest element", output.output),
            (None, None) => output.output.clone(),
        };
        let outputs: Vec<String> = self.outputs.iter().take(3).map(output).collect();
        let more = match self.outputs.len().saturating_sub(outputs.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let time = self.run_ms.map(|run| format!(", in {run:.3} ms")).unwrap_or_default();
        format!("the engine's plan with {} gives other outputs{time}: {}{more}", self.form, outputs.join(", "))
    }
}

/// Seconds that a comparison may take beside the time of the runs that are measured.
const GRACE: Duration = Duration::from_secs(2);

impl FromStr for Verify {
    type Err = UnknownVerify;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Verify::Auto),
            "on" => Ok(Verify::On),
            "off" => Ok(Verify::Off),
            _ => Err(UnknownVerify),
        }
    }
}

/// A word that says nothing of whether to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is auto, on or off")]
pub struct UnknownVerify;

/// Compares the session's optimised plan with the exact one, on `inputs` with other numbers in them. `runs` is how many
/// runs will be timed. Returns what came out, and the session to run where that is another one.
///
/// Says nothing where the model does not run at all: the benchmark itself says why.
pub fn verify(
    session: &Session,
    inputs: &[Tensor],
    runs: u64,
    wish: Verify,
) -> Option<(Verification, Option<Session>)> {
    if wish == Verify::Off || session.model().fidelity() == Fidelity::Exact {
        return None;
    }
    let kept = Kept::of(session, inputs);
    if wish == Verify::Auto
        && let Some(found) = kept.read()
    {
        let other = found.form().filter(|_| !found.wrong.is_empty()).map(|form| session.in_form(form));
        match other.transpose() {
            Ok(other) => return Some((found, other)),
            Err(_) => return None,
        }
    }
    let start = Instant::now();
    let (mut verification, other) = compare(session, inputs, runs, wish)?;
    verification.seconds = start.elapsed().as_secs_f64();
    if !matches!(verification.outcome, Outcome::Skipped { .. }) {
        kept.write(&verification);
    }
    Some((verification, other))
}

fn compare(session: &Session, inputs: &[Tensor], runs: u64, wish: Verify) -> Option<(Verification, Option<Session>)> {
    let forms = session.engine().forms();
    let (own, weaker) = forms.split_first()?;
    let varied = varied(inputs);
    let (inputs, first) = match run_until(session, &varied, 2, None) {
        // Numbers that the graph cannot take: those that the user has given.
        Err(error) if cannot_run(&error) => (inputs, run_until(session, inputs, 2, None)),
        outcome => (&varied[..], outcome),
    };
    let skipped = |because: String| {
        let outcome = Outcome::Skipped { because };
        Some((Verification { outcome, wrong: Vec::new(), seconds: 0.0, kept_since: None }, None))
    };
    let deadline = match wish {
        Verify::Auto => {
            let timed = first
                .as_ref()
                .map_or(Duration::ZERO, |trial| trial.time.saturating_mul(runs.min(u32::MAX.into()) as u32));
            let budget = timed + GRACE;
            if let Ok(Trial { planning, .. }) = &first
                && *planning > budget
            {
                return skipped(
                    "making the exact plan would take longer than the timed runs and two seconds".to_owned(),
                );
            }
            let needed = exact_memory(session);
            if needed > machine::available_memory() {
                return skipped(format!("the exact plan would need {} MiB of memory", needed >> 20));
            }
            Some(Instant::now() + budget)
        }
        _ => None,
    };
    let exact = session.with_options(&LoadOptions::new(Fidelity::Exact, session.threads())).ok()?;
    let reference = match run_until(&exact, inputs, 1, deadline) {
        Ok(reference) => reference,
        Err(EngineError::Stopped(_)) => {
            return skipped("the exact run would take longer than the timed runs and two seconds".to_owned());
        }
        Err(_) => return None,
    };
    let judge = Judge::of(session.graph());
    let mut wrong = Vec::new();
    let mut form = own.clone();
    let mut trial = first;
    let mut other: Option<Session> = None;
    let mut rest = weaker.iter();
    loop {
        match judged(&judge, session, form.name(), &reference, trial) {
            Ok(largest_difference) => {
                let outcome = Outcome::Right { form: form.name().to_owned(), largest_difference };
                return Some((Verification { outcome, wrong, seconds: 0.0, kept_since: None }, other));
            }
            Err(found) => wrong.push(found),
        }
        form = rest.next()?.clone();
        let next = session.in_form(form.clone());
        trial = next.as_ref().map_err(Clone::clone).and_then(|next| run_until(next, inputs, 2, None));
        other = next.ok();
    }
}

/// Whether a plan gives what the reference gives: the largest difference, or what is wrong.
fn judged(
    judge: &Judge,
    session: &Session,
    form: &str,
    reference: &Trial,
    trial: Result<Trial, EngineError>,
) -> Result<f64, WrongForm> {
    let wrong = |outputs, fails_with, run_ms| WrongForm { form: form.to_owned(), outputs, fails_with, run_ms };
    let trial = trial.map_err(|error| wrong(Vec::new(), Some(error.to_string()), None))?;
    let (largest, outputs) = judge.compare(session.graph(), &trial.outputs, &reference.outputs);
    if outputs.is_empty() { Ok(largest) } else { Err(wrong(outputs, None, Some(trial.time.as_secs_f64() * 1e3))) }
}

/// Whether an error is one of the run, and not of the plan.
fn cannot_run(error: &EngineError) -> bool {
    !matches!(error, EngineError::Stopped(_))
}

/// Random numbers in the place of floating-point inputs that are all equal, such as the zeros that a benchmark makes up:
/// with those, most operators give the same whatever they do.
fn varied(inputs: &[Tensor]) -> Vec<Tensor> {
    let mut random = fastrand::Rng::with_seed(0x0b5c_09e);
    let vary = |tensor: &Tensor| {
        let size = tensor.dtype().size().unwrap_or(0);
        let is_uniform = size > 0 && tensor.bytes().chunks(size).all(|element| element == &tensor.bytes()[..size]);
        if !is_uniform {
            return tensor.clone();
        }
        let bytes: Option<Vec<u8>> = match tensor.dtype() {
            DType::F32 => Some((0..tensor.elements()).flat_map(|_| random.f32().to_le_bytes()).collect()),
            DType::F64 => Some((0..tensor.elements()).flat_map(|_| random.f64().to_le_bytes()).collect()),
            DType::F16 => {
                Some((0..tensor.elements()).flat_map(|_| half::f16::from_f32(random.f32()).to_le_bytes()).collect())
            }
            _ => None,
        };
        bytes
            .and_then(|bytes| Tensor::new(tensor.dtype(), tensor.shape().to_vec(), bytes).ok())
            .unwrap_or_else(|| tensor.clone())
    };
    inputs.iter().map(vary).collect()
}

/// Bytes that a second plan of the model would take, roughly: the file, and as much again for what is made of it.
fn exact_memory(session: &Session) -> u64 {
    session.graph().source.bytes.len() as u64 * 2
}

impl Verification {
    /// What was found, a sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        for wrong in &self.wrong {
            sentences.push(wrong.sentence());
        }
        sentences.push(match &self.outcome {
            Outcome::Right { form, largest_difference } => {
                let plan = match self.wrong.is_empty() {
                    true => "the outputs are those of the exact plan".to_owned(),
                    false => format!("it runs with {form}, which gives the outputs of the exact plan"),
                };
                let found = match &self.kept_since {
                    Some(day) => format!("found on {day}"),
                    None => format!("compared in {:.2} s", self.seconds),
                };
                format!("{plan}, within {largest_difference:.1e} of the largest element ({found})")
            }
            Outcome::Skipped { because } => format!("the outputs were not compared with the exact plan's: {because}"),
        });
        sentences
    }

    /// The form of the plan that runs, where it was found.
    pub fn form(&self) -> Option<PlanForm> {
        match &self.outcome {
            Outcome::Right { form, .. } => Some(PlanForm::new(form.clone())),
            Outcome::Skipped { .. } => None,
        }
    }
}
