//! The result of a search. `docs/json.md` describes it as JSON.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use opscope_tensor::DType;
use opscope_text::{counted, grouped, shown_number, shown_text};
use serde::Serialize;

use super::errors::Cause;
use super::target::Target;

/// What a search found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PrecisionReport {
    /// `opscope.precision/1`.
    pub schema: &'static str,
    /// The model.
    pub model: PathBuf,
    /// The narrower type.
    #[serde(serialize_with = "short_name")]
    pub to: DType,
    /// What the outputs must keep.
    pub target: Target,
    /// The metric between two ways to compute in float32: two engines, or two plans of one.
    pub noise: Option<f64>,
    /// The two ways.
    pub noise_between: [String; 2],
    /// The model with every candidate lowered. `None` if the target is below the noise.
    pub all_low: Option<AllLow>,
    /// The operators that must stay in float32, in order of execution.
    pub kept: Vec<KeptOperator>,
    /// The share of the model's time in float32 that they take.
    pub kept_time: f64,
    /// The metric of the file with these operators kept, on the inputs of the search.
    pub value: Option<f64>,
    /// What computed `value` and `held_out`: an engine that ran the file, or runs of the original in which values are
    /// rounded.
    pub measured_by: Option<String>,
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
    /// The model that was written. `None` if nothing was found in time.
    pub written: Option<PathBuf>,
    /// The names of the kept nodes, one a line.
    pub list: Option<PathBuf>,
}

/// The model with every candidate lowered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AllLow {
    /// The metric; `None` if outputs are not finite.
    pub value: Option<f64>,
    /// The first operator whose error is more than that of rounding.
    pub first: Option<String>,
    /// Why.
    pub cause: Option<Cause>,
}

/// An operator that must stay in float32.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeptOperator {
    /// Its name.
    pub operator: String,
    /// The name of its node in the file, which the list has.
    pub node: String,
    /// Its type.
    pub op_type: String,
    /// What it does in the narrower type, if that alone is more than rounding.
    pub cause: Option<Cause>,
    /// The metric if it is lowered, too. `None` if outputs are not finite then, or if it was not tried.
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
    /// Returns the mean of some values, and its interval by the normal distribution. A value that could not be measured
    /// leaves nothing to tell.
    pub(super) fn of(values: &[Option<f64>]) -> Option<Self> {
        let inputs = values.len();
        let Some(values) = values.iter().copied().collect::<Option<Vec<f64>>>() else {
            return Some(Self { mean: None, low: None, high: None, inputs });
        };
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / inputs as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half = (inputs > 1).then(|| 1.96 * (squares / (inputs - 1) as f64 / inputs as f64).sqrt());
        Some(Self { mean: Some(mean), low: half.map(|half| mean - half), high: half.map(|half| mean + half), inputs })
    }
}

/// Returns `fp16` or `bf16`.
pub(super) fn short(dtype: DType) -> &'static str {
    if dtype == DType::Bf16 { "bf16" } else { "fp16" }
}

fn short_name<S: serde::Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(short(*dtype))
}

impl PrecisionReport {
    /// Returns the report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report has only texts and numbers")
    }

    /// Returns whether everything was found that was asked for.
    pub fn is_complete(&self) -> bool {
        self.minimal && self.all_low.is_some()
    }

    /// Returns the report for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut line = |title: &str, rest: String| {
            let _ = writeln!(text, "{title:<9} {rest}");
        };
        let (metric, to) = (self.target.metric, short(self.to));
        let shown = |value: Option<f64>| value.map_or_else(|| "not finite".to_owned(), number);
        let [one, other] = &self.noise_between;
        let Some(all_low) = &self.all_low else {
            line("noise", format!("float32 by {one} and by {other}: {metric} {}", shown(self.noise)));
            line(
                "",
                format!("the target {} is finer than that: no choice of operators can be told from noise", self.target),
            );
            return text;
        };
        line(
            "noise",
            format!("float32 by {one} and by {other}: {metric} {}: the target is above that", shown(self.noise)),
        );
        line(&format!("all {to}"), format!("{metric} {}", shown(all_low.value)));
        if let (Some(first), Some(cause)) = (&all_low.first, all_low.cause) {
            line("", format!("first operator worse than rounding: {first} ({cause})"));
        }
        let count = format!("{} of {}", self.kept.len(), counted(grouped(self.operators as u64), "operator"));
        let names: Vec<&str> = self.kept.iter().take(NAMED).map(|kept| kept.operator.as_str()).collect();
        let more = match self.kept.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        match (&names[..], &self.written) {
            (_, None) => line("keep fp32", "nothing was found in time".to_owned()),
            ([], _) => line("keep fp32", format!("nothing: all {} operators can compute in {to}", self.candidates)),
            _ => line(
                "keep fp32",
                format!("{count}, {:.1} % of the time: {}{more}", self.kept_time * 100.0, names.join(", ")),
            ),
        }
        match self.minimal {
            true if self.kept.is_empty() => {}
            true => {
                let without: Vec<String> = self.kept.iter().take(NAMED).map(|kept| shown(kept.value_without)).collect();
                line("proof", format!("without any one of them the target is missed: {}{more}", without.join(", ")));
            }
            false => line("proof", "none: the search was cut short; the same command goes on with it".to_owned()),
        }
        if let Some(value) = self.value {
            let verdict = if self.target.is_met(Some(value)) { "" } else { ": MISSES the target" };
            let by = self.measured_by.as_deref().unwrap_or_default();
            line("measured", format!("{metric} {} by {by}{verdict}", number(value)));
        }
        if self.written.is_some() {
            line("held out", self.held_out_text());
        }
        if let (Some(written), Some(list)) = (&self.written, &self.list) {
            line("written", path(written));
            line(
                "",
                format!(
                    "{} for nodes_to_exclude (modelopt, onnxruntime) and node_block_list (onnxconverter-common)",
                    path(list)
                ),
            );
        }
        text
    }

    fn held_out_text(&self) -> String {
        let Some(held_out) = self.held_out else {
            return "none: give several sets of inputs, and a part of them is kept for this".to_owned();
        };
        let inputs = counted(held_out.inputs, "set");
        let metric = self.target.metric;
        let verdict = if self.target.is_met(held_out.mean) { "" } else { ": MISSES the target" };
        match (held_out.mean, held_out.low, held_out.high) {
            (Some(mean), Some(low), Some(high)) => format!(
                "{metric} {} ({} to {}, {inputs} of inputs that the search did not see){verdict}",
                number(mean),
                number(low),
                number(high)
            ),
            (Some(mean), ..) => {
                format!("{metric} {} ({inputs} of inputs that the search did not see){verdict}", number(mean))
            }
            _ => format!("not finite ({inputs} of inputs that the search did not see){verdict}"),
        }
    }
}

fn path(path: &Path) -> String {
    shown_text(&path.to_string_lossy()).into_owned()
}

/// Names in a line.
const NAMED: usize = 6;

/// Returns a number so that what is missing to 1 has two digits: 0.999987.
fn number(value: f64) -> String {
    let missing = (1.0 - value).abs();
    if missing < 1e-10 {
        return "1".to_owned();
    }
    if value > 0.9 && value <= 1.0 {
        let digits = (1.0 - missing.log10().floor()) as usize;
        return format!("{value:.*}", digits.clamp(3, 12));
    }
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { shown_number(value) }
}
