use std::path::Path;

use opscope_onnx::CodeOrigin;
use opscope_profile::EngineInfo;
use opscope_tensor::DType;
use opscope_tensor::Digest;
use serde::Deserialize;

use crate::ReportError;

/// The largest summary that is read, in bytes: about ten million runs.
const LARGEST: u64 = 256 << 20;

/// The parts of `NAME_summary.json` that a page uses. Times are in milliseconds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Summary {
    pub opscope: String,
    /// The options that make another command run the model in the same way.
    #[serde(default)]
    pub again: Vec<String>,
    pub model: SavedModel,
    pub engine: EngineInfo,
    pub machine: SavedMachine,
    pub load_ms: f64,
    pub peak_memory_bytes: u64,
    pub complete: bool,
    #[serde(default)]
    pub incomplete_because: Vec<String>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub inputs: Vec<SavedInput>,
    #[serde(rename = "NPU_compute_time")]
    pub compute: Option<Times>,
    #[serde(rename = "H2D_latency")]
    pub upload: Option<Times>,
    #[serde(rename = "D2H_latency")]
    pub download: Option<Times>,
    pub median_interval_95: Option<(f64, f64)>,
    pub throughput: Option<f64>,
    pub throughput_at_median: Option<f64>,
    pub plan_ms: Option<f64>,
    pub run_memory: Option<SavedMemory>,
    /// The times of each shape, if the input files have several.
    #[serde(default)]
    by_shape: Vec<SavedShape>,
    /// The measurements of a table of shapes. The fields above are those of the first one.
    dym_shape_range: Option<Vec<SavedShape>>,
    #[serde(default, rename = "npu_compute_time_list")]
    pub times: Vec<f64>,
    profile: Option<SavedProfile>,
}

/// The model of a summary.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedModel {
    pub path: String,
    pub xxh3: Digest,
    pub graph: String,
    pub operators: u64,
}

/// The machine of a summary.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedMachine {
    pub cpu: String,
    pub processors: u64,
    pub memory_bytes: Option<u64>,
    pub system: String,
}

/// An input of a summary.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedInput {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<u64>,
}

/// The times of one of several shapes.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedShape {
    #[serde(default)]
    pub inputs: Vec<SavedInput>,
    #[serde(rename = "NPU_compute_time")]
    pub compute: Times,
    pub throughput_at_median: Option<f64>,
}

/// Statistics of times, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Times {
    pub count: Option<u64>,
    pub max: f64,
    pub median: f64,
    #[serde(rename = "P90")]
    pub p90: f64,
    #[serde(rename = "P99")]
    pub p99: f64,
}

/// The memory of a run's tensors.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedMemory {
    pub bytes: u64,
    pub operator: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct SavedProfile {
    account: Option<SavedAccount>,
}

#[derive(Debug, Clone, Deserialize)]
struct SavedAccount {
    #[serde(default)]
    operators: Vec<SavedOperator>,
    #[serde(default)]
    op_types: Vec<SavedType>,
}

/// An operator type of a summary's account. Times are nanoseconds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedType {
    pub op_type: String,
    #[serde(default)]
    pub added: bool,
    #[serde(default)]
    pub operators: u64,
    pub median_ns: f64,
    pub percent: f64,
}

/// An operator of a summary's account. Times are nanoseconds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SavedOperator {
    pub operator: String,
    #[serde(default)]
    pub origin: Option<CodeOrigin>,
    pub op_type: String,
    #[serde(default)]
    pub added: bool,
    #[serde(default)]
    pub kernel_ops: Vec<String>,
    #[serde(default)]
    pub fused: Vec<String>,
    #[serde(default)]
    pub exact: bool,
    pub dispatches: u64,
    pub total_ns: f64,
    pub mean_ns: f64,
    pub median_ns: f64,
    pub p90_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub percent: f64,
}

impl Summary {
    /// Reads a summary.
    pub(crate) fn read(path: &Path) -> Result<Self, ReportError> {
        let wrong = |reason: String| ReportError::Summary { path: path.to_owned(), reason };
        let text = opscope_files::read(path, LARGEST).map_err(|error| wrong(error.to_string()))?;
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let schema = value.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        if schema != "opscope.summary/1" {
            return Err(wrong(format!("its schema is '{schema}', this version reads 'opscope.summary/1'")));
        }
        serde_json::from_value(value).map_err(|error| wrong(error.to_string()))
    }

    /// Returns the operators of the account; none if the run was not profiled.
    pub(crate) fn operators(&self) -> &[SavedOperator] {
        let account = self.profile.as_ref().and_then(|profile| profile.account.as_ref());
        account.map_or(&[], |account| &account.operators)
    }

    /// Returns the times of each shape; none if there is only one.
    pub(crate) fn shapes(&self) -> &[SavedShape] {
        self.dym_shape_range.as_deref().unwrap_or(&self.by_shape)
    }

    /// Returns whether its times are only those of the first of its shapes.
    pub(crate) fn is_of_first_shape(&self) -> bool {
        self.dym_shape_range.is_some()
    }

    /// Returns the operator types of the account; none if the run was not profiled.
    pub(crate) fn op_types(&self) -> &[SavedType] {
        let account = self.profile.as_ref().and_then(|profile| profile.account.as_ref());
        account.map_or(&[], |account| &account.op_types)
    }
}
