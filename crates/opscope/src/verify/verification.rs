use opscope_model::{KnownOutput, KnownOutputs};
use serde::{Deserialize, Serialize};

use super::OutputDifference;

/// The result of comparing the optimised plan with the exact one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The forms that are wrong, the engine's own first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongForm>,
    /// Seconds that the comparison took.
    pub seconds: f64,
    /// The values that the plan's kernels compute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelOutput>,
    /// The day of the comparison, if the result comes from the cache: `2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_since: Option<String>,
}

/// An output of a kernel that is a value of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelOutput {
    /// The engine's name of the kernel.
    pub kernel: String,
    /// The output, by the engine's slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// Whether its elements are in the file's order.
    pub same_order: bool,
}

/// The outcome of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The plan that runs has the outputs of the exact plan.
    Right {
        /// Its form.
        form: String,
        /// The largest difference of an output, as a share of the output's largest element.
        largest_difference: f64,
    },
    /// It was not compared.
    Skipped {
        /// The reason.
        because: String,
    },
}

/// A form of the plan that is wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WrongForm {
    /// Its name.
    pub form: String,
    /// The outputs that differ; empty if it does not run.
    pub outputs: Vec<OutputDifference>,
    /// The error, if it does not run.
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

impl Verification {
    pub(super) fn of(outcome: Outcome, wrong: Vec<WrongForm>) -> Self {
        Self { outcome, wrong, seconds: 0.0, kernels: Vec::new(), kept_since: None }
    }

    /// The result in sentences.
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
                match *largest_difference {
                    0.0 => format!("{plan}, to the last bit ({found})"),
                    share => format!("{plan}, within {share:.1e} of the largest element ({found})"),
                }
            }
            Outcome::Skipped { because } => format!("the outputs were not compared with the exact plan's: {because}"),
        });
        sentences
    }

    /// The values that the kernels compute, as an engine takes them.
    pub fn known(&self) -> KnownOutputs {
        known(&self.kernels)
    }
}

/// The values that kernels compute, as an engine takes them.
pub(super) fn known(kernels: &[KernelOutput]) -> KnownOutputs {
    let mut known = KnownOutputs::new();
    for KernelOutput { kernel, slot, value, same_order } in kernels.iter().cloned() {
        known.entry(kernel).or_default().push(KnownOutput { slot, value, same_order });
    }
    known
}
