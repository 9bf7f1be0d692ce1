//! The result of a search. `docs/json.md` describes it as JSON.

use std::path::PathBuf;

use serde::Serialize;

use super::criterion::Criterion;
use super::errors::Cause;
use super::low_type::LowType;
use super::target::Metric;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrecisionReport {
    /// `opscope.precision/1`.
    pub schema: &'static str,
    /// The model.
    pub model: PathBuf,
    /// The narrower type.
    pub to: LowType,
    /// When a model is good enough: the target, or the command that checks it.
    pub target: Criterion,
    /// The metric between two ways to compute in float32: two engines, or two plans of one.
    pub noise: Option<f64>,
    /// Why it is not known, if it is not.
    pub noise_unknown: Option<String>,
    /// The two ways.
    pub noise_between: [String; 2],
    /// The model with every candidate lowered. `None` if the target is below the noise.
    pub all_low: Option<AllLow>,
    /// The operators that must stay in float32, in order of execution.
    pub kept: Vec<KeptOperator>,
    /// Every candidate, in order of execution.
    pub all_operators: Vec<LookedAt>,
    /// The share of the model's time in float32 that they take.
    pub kept_time: f64,
    /// The metric of the file with these operators kept, on the inputs of the search.
    pub value: Option<f64>,
    /// What computed `value` and `held_out`: an engine that ran the file, or runs of the original in which values are
    /// rounded. `None` if nothing was measured.
    pub measured_by: Option<String>,
    /// Whether an engine ran the written file. `None` if nothing was measured.
    pub file_ran: Option<bool>,
    /// The metric on inputs that the search did not see. `None` if there are none.
    pub held_out: Option<HeldOut>,
    /// Sets of inputs of the search.
    pub inputs: usize,
    /// The cost of the search, in whole runs of the model for each set of inputs.
    pub full_runs: f64,
    /// Operators that can be lowered.
    pub candidates: usize,
    /// All operators.
    pub operators: usize,
    /// Whether the target is missed without any one of the kept operators. Not if the search was cut short.
    pub minimal: bool,
    /// Whether the user ended the search, or the measuring behind it, early.
    pub interrupted: bool,
    /// The model that was written. `None` if nothing was found in time.
    pub written: Option<PathBuf>,
    /// The names of the kept nodes, one a line. See [`KeptOperator::listed`].
    pub list: Option<PathBuf>,
}

/// The model with every candidate lowered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AllLow {
    /// The metric; `None` if outputs are not finite, or no engine loads what the quantizer wrote.
    pub value: Option<f64>,
    /// The first operator whose error is more than that of rounding.
    pub first: Option<String>,
    /// Why.
    pub cause: Option<Cause>,
}

/// What was found about an operator on its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LookedAt {
    /// Its name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// √(Σ (x - y)² / Σ y²) of its outputs x in the narrower type, given the reference's inputs. `None` if an output is not
    /// finite, or if the engine does not show the operator.
    pub error: Option<f64>,
    /// Why, if the error is more than rounding.
    pub cause: Option<Cause>,
    /// Whether it is kept.
    pub kept: bool,
    /// Its share of the model's time in float32.
    pub time: f64,
}

/// An operator that must stay in float32.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeptOperator {
    /// Its name.
    pub operator: String,
    /// The name of its node in the file.
    pub node: String,
    /// Whether the list has that name: not if there is a line break in it.
    pub listed: bool,
    /// Its type.
    pub op_type: String,
    /// What it does in the narrower type, if that alone is more than rounding.
    pub cause: Option<Cause>,
    /// The metric if it is lowered, too. `None` if outputs are not finite then, if no engine loads what the quantizer
    /// wrote then, or if it was not tried.
    pub value_without: Option<f64>,
}

/// The metric on inputs that the search did not see.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct HeldOut {
    /// The mean; `None` if outputs are not finite.
    pub mean: Option<f64>,
    /// The 95 % interval of the mean.
    pub low: Option<f64>,
    /// Its other end.
    pub high: Option<f64>,
    /// Sets of inputs.
    pub inputs: usize,
}

impl HeldOut {
    /// Returns the value for several sets of inputs, and its interval by the normal distribution. A value that could not be
    /// measured leaves nothing to tell.
    pub(super) fn of(metric: Metric, values: &[Option<f64>]) -> Option<Self> {
        let inputs = values.len();
        let Some(values) = values.iter().copied().collect::<Option<Vec<f64>>>() else {
            return Some(Self { mean: None, low: None, high: None, inputs });
        };
        if values.is_empty() {
            return None;
        }
        let terms: Vec<f64> = values.iter().map(|value| metric.term(*value)).collect();
        let mean = terms.iter().sum::<f64>() / inputs as f64;
        let squares: f64 = terms.iter().map(|term| (term - mean).powi(2)).sum();
        let half = 1.96 * (squares / (inputs - 1).max(1) as f64 / inputs as f64).sqrt();
        let ends = [mean - half, mean + half].map(|term| metric.of_term(term));
        let end = |end: f64| (inputs > 1).then_some(end);
        let (low, high) = (end(ends[0].min(ends[1])), end(ends[0].max(ends[1])));
        Some(Self { mean: Some(metric.of_term(mean)), low, high, inputs })
    }
}

impl PrecisionReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has only texts and numbers")
    }

    /// Returns whether everything was found that was asked for, and the written file keeps what it must.
    pub fn is_complete(&self) -> bool {
        let is_met = match &self.target {
            Criterion::Target(target) => target.is_met(self.value),
            Criterion::Check(_) => true,
        };
        // No engine runs bf16 on a processor.
        let could_run = self.file_ran != Some(false) || self.to == LowType::Bf16;
        self.minimal && !self.interrupted && is_met && could_run
    }
}
