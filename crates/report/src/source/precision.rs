use std::path::Path;

use serde::Deserialize;

use crate::ReportError;

/// The largest result of a search that is read, in bytes.
const LARGEST: u64 = 256 << 20;

/// The name of a result's file.
pub(super) const NAME: &str = "precision.json";

/// The parts of the result of a search for precisions that a page uses.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct SavedPrecision {
    pub model: String,
    /// `fp16`, `bf16` or `int8`.
    pub to: String,
    pub target: String,
    pub noise: Option<f64>,
    pub all_low: Option<SavedAllLow>,
    pub kept: Vec<SavedKept>,
    /// Every operator that can be lowered, in order of execution.
    #[serde(default)]
    pub all_operators: Vec<SavedLook>,
    pub kept_time: f64,
    pub value: Option<f64>,
    pub measured_by: Option<String>,
    pub held_out: Option<SavedHeldOut>,
    pub inputs: u64,
    pub operators: u64,
    pub minimal: bool,
    pub written: Option<String>,
}

/// The model with every operator lowered.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct SavedAllLow {
    pub value: Option<f64>,
}

/// An operator that must stay in float32.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct SavedKept {
    pub operator: String,
    pub value_without: Option<f64>,
}

/// What was found about an operator on its own.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct SavedLook {
    pub operator: String,
    pub op_type: String,
    /// The relative error of its outputs. `None` if they are not finite, or not known.
    pub error: Option<f64>,
    pub cause: Option<String>,
    pub kept: bool,
    /// Its share of the model's time.
    pub time: f64,
}

/// The metric on inputs that the search did not see.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct SavedHeldOut {
    pub mean: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub inputs: u64,
}

impl SavedPrecision {
    /// Reads the result of a search.
    pub(crate) fn read(path: &Path) -> Result<Self, ReportError> {
        let wrong = |reason: String| ReportError::Precision { path: path.to_owned(), reason };
        let text = opscope_files::read(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        if schema != "opscope.precision/1" {
            return Err(wrong(format!("its schema is '{schema}', this version reads 'opscope.precision/1'")));
        }
        serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
    }

    /// Returns the largest relative error of rounding a number to the type.
    pub(crate) fn rounding_unit(&self) -> f64 {
        if self.to == "fp16" { 2f64.powi(-11) } else { 2f64.powi(-8) }
    }
}
