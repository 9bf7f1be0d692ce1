use opscope_model::{KnownOutput, KnownOutputs};
use serde::{Deserialize, Serialize};

use super::OutputDifference;

/// The result of comparing the optimised plan with the exact one, or with that of another engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The wrong forms, with the engine's own first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<WrongForm>,
    /// The time that the comparison took, in seconds.
    pub seconds: f64,
    /// The values that the plan's kernels compute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<KernelOutput>,
    /// The engine that the outputs were compared with, if it is another one: `onnxruntime 1.25.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
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
        /// The largest difference of an output, as a share of the number that it is judged by: see
        /// [`OutputDifference::scale`].
        largest_difference: f64,
        /// How far each output is from the exact plan's. Empty if the exact plan itself runs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outputs: Vec<OutputDifference>,
    },
    /// No form of the plan has the outputs of the other engine, and neither does the exact plan. The engine's own plan
    /// runs.
    Wrong,
    /// The plan was not compared.
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
    /// The time of its run, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<f64>,
}

impl WrongForm {
    /// Returns what is wrong with the form, as a text that follows its name:
    /// `gives other outputs: y by 0.50 of its largest element`. It names at most `most` outputs.
    pub(crate) fn fault(&self, most: usize) -> String {
        if let Some(reason) = &self.fails_with {
            return format!("does not run: {reason}");
        }
        let outputs: Vec<String> = self.outputs.iter().take(most).map(ToString::to_string).collect();
        let more = match self.outputs.len().saturating_sub(outputs.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("gives other outputs: {}{more}", outputs.join(", "))
    }
}

impl Verification {
    pub(super) fn of(outcome: Outcome, wrong: Vec<WrongForm>) -> Self {
        Self { outcome, wrong, seconds: 0.0, kernels: Vec::new(), reference: None, kept_since: None }
    }

    /// Returns the result in one sentence.
    pub fn sentence(&self) -> String {
        let reference = self.reference();
        let found = match &self.kept_since {
            Some(day) => format!("found on {day}"),
            None => format!("compared in {:.2} s", self.seconds),
        };
        let (form, difference) = match &self.outcome {
            Outcome::Right { form, largest_difference, .. } => (form, *largest_difference),
            Outcome::Wrong => {
                let fault = self.wrong.first().map(|own| own.fault(1)).unwrap_or_default();
                return format!(
                    "no form of the plan gives the outputs of {reference}; the one that runs {fault} ({found})"
                );
            }
            Outcome::Skipped { because } => {
                return format!("the outputs were not compared with those of {reference}: {because}");
            }
        };
        let within = within(difference);
        match self.wrong.first() {
            None => format!("the outputs are those of {reference}, {within} ({found})"),
            Some(own) => {
                let fault = own.fault(1);
                format!("it runs with {form}, because the engine's own plan {fault} ({found})")
            }
        }
    }

    /// Returns a sentence for each tried form of the plan. Empty if only the engine's own was tried.
    pub fn details(&self) -> Vec<String> {
        let wrong = |wrong: &WrongForm| {
            let time = wrong.run_ms.map(|run| format!(" in {run:.3} ms")).unwrap_or_default();
            format!("the plan with {}{time} {}", wrong.form, wrong.fault(3))
        };
        let mut details: Vec<String> = self.wrong.iter().map(wrong).collect();
        if let (Outcome::Right { form, largest_difference, .. }, false) = (&self.outcome, details.is_empty()) {
            details.push(format!("{form} gives the outputs of {}, {}", self.reference(), within(*largest_difference)));
        }
        details
    }

    /// Returns whether every form of the plan has wrong outputs.
    pub fn is_wrong(&self) -> bool {
        self.outcome == Outcome::Wrong
    }

    fn reference(&self) -> &str {
        self.reference.as_deref().unwrap_or("the exact plan")
    }

    /// Returns the values that the kernels compute, in the form that an engine takes.
    pub fn known(&self) -> KnownOutputs {
        known(&self.kernels)
    }
}

/// Returns the difference of outputs that count as equal: `within 3.6e-7 of the largest value`.
fn within(difference: f64) -> String {
    match difference {
        0.0 => "to the last bit".to_owned(),
        share => format!("within {share:.1e} of the largest value"),
    }
}

/// Returns the values that kernels compute, in the form that an engine takes.
pub(super) fn known(kernels: &[KernelOutput]) -> KnownOutputs {
    let mut known = KnownOutputs::new();
    for KernelOutput { kernel, slot, value, same_order } in kernels.iter().cloned() {
        known.entry(kernel).or_default().push(KnownOutput { slot, value, same_order });
    }
    known
}
