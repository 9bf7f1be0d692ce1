use std::collections::BTreeMap;

use opscope_profile::{EngineInfo, Load, MedianEstimate};
use serde::Deserialize;
use serde_json::Value;

/// The part of a `<run>_summary.json` that is compared.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryFile {
    pub opscope: String,
    /// Summaries of earlier versions do not say.
    #[serde(default)]
    pub start_unix_ns: Option<u64>,
    pub model: SummaryModel,
    pub engine: EngineInfo,
    /// Facts about the machine by their names.
    pub machine: BTreeMap<String, Value>,
    /// Summaries of earlier versions do not say.
    #[serde(default)]
    pub load: Load,
    pub complete: bool,
    #[serde(default)]
    pub incomplete_because: Vec<String>,
    #[serde(default)]
    pub inputs: Vec<SummaryInput>,
    /// Milliseconds of every run.
    #[serde(rename = "npu_compute_time_list", default)]
    pub times_ms: Vec<f64>,
    profile: Option<SummaryProfile>,
    #[serde(default)]
    pub dump: Option<Value>,
    #[serde(default)]
    pub debugger: Option<Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryModel {
    pub path: String,
    pub xxh3: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryInput {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<usize>,
}

#[derive(Debug, Clone, Deserialize)]
struct SummaryProfile {
    account: Option<SummaryAccount>,
}

#[derive(Debug, Clone, Deserialize)]
struct SummaryAccount {
    operators: Vec<SummaryOperator>,
    #[serde(default)]
    op_types: Vec<SummaryType>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryOperator {
    pub operator: String,
    pub op_type: String,
    pub added: bool,
    pub fused: Vec<String>,
    #[serde(flatten)]
    pub median: SummaryMedian,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryType {
    pub op_type: String,
    pub added: bool,
    #[serde(flatten)]
    pub median: SummaryMedian,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct SummaryMedian {
    median_ns: f64,
    /// Summaries of earlier versions do not say.
    #[serde(default)]
    median_interval_95_ns: Option<(f64, f64)>,
}

impl SummaryMedian {
    /// Returns the median with its interval.
    pub fn estimate(self) -> MedianEstimate {
        MedianEstimate { interval: self.median_interval_95_ns, ..MedianEstimate::without_interval(self.median_ns) }
    }

    fn is_inside_of_its_interval(&self) -> bool {
        self.median_interval_95_ns.is_none_or(|(low, high)| low <= self.median_ns && self.median_ns <= high)
    }
}

/// The schema that this version reads.
const SCHEMA: &str = "opscope.summary/1";

impl SummaryFile {
    /// Reads the text of a summary. Returns what is wrong with it, if anything is.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => return Err(format!("its schema is {other:?}, that of a summary is {SCHEMA:?}")),
            None => return Err(format!("it has no schema; a summary has {SCHEMA:?}")),
        }
        let summary: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        if let Some(time) = summary.times_ms.iter().find(|time| !time.is_finite() || **time < 0.0) {
            return Err(format!("one of its times is {time} ms"));
        }
        let operators = summary.operators().map(|one| (&one.operator, one.median));
        let medians = operators.chain(summary.op_types().map(|one| (&one.op_type, one.median)));
        let outside =
            medians.filter(|(_, median)| !median.is_inside_of_its_interval()).map(|(name, _)| name.clone()).next();
        match outside {
            Some(name) => Err(format!("the median time of {name:?} lies outside of its interval")),
            None => Ok(summary),
        }
    }

    /// Returns whether a profiler took part.
    pub fn is_profiled(&self) -> bool {
        self.profile.is_some()
    }

    /// Returns the operators of its account; none without a profile.
    pub fn operators(&self) -> impl Iterator<Item = &SummaryOperator> {
        let account = self.profile.iter().filter_map(|profile| profile.account.as_ref());
        account.flat_map(|account| &account.operators)
    }

    /// Returns the types of its account; none without a profile.
    pub fn op_types(&self) -> impl Iterator<Item = &SummaryType> {
        let account = self.profile.iter().filter_map(|profile| profile.account.as_ref());
        account.flat_map(|account| &account.op_types)
    }
}
