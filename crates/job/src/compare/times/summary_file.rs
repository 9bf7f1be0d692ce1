use std::collections::BTreeMap;

use opscope_profile::{EngineInfo, Load, MedianEstimate};
use opscope_tensor::DType;
use opscope_tensor::Digest;
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
    pub xxh3: Digest,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct SummaryInput {
    pub name: String,
    pub dtype: DType,
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

/// What is wrong with a summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The text is not JSON.
    #[error("it is not JSON: {0}")]
    Json(serde_json::Error),
    /// It has the schema of something else.
    #[error("its schema is {0:?}; the schema of a summary is {SCHEMA:?}")]
    OtherSchema(String),
    /// It has no schema.
    #[error("it has no schema; a summary has {SCHEMA:?}")]
    NoSchema,
    /// A key is missing, or has a value of another type.
    #[error(transparent)]
    Content(serde_json::Error),
    /// A time, in milliseconds, that no run takes.
    #[error("one of its times is {0} ms")]
    Time(f64),
    /// The median of an operator or a type lies outside of its interval.
    #[error("the median time of {0:?} lies outside of its interval")]
    Median(String),
}

impl SummaryFile {
    /// Reads the text of a summary.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn read(text: &str) -> Result<Self, SummaryError> {
        let value: Value = serde_json::from_str(text).map_err(SummaryError::Json)?;
        match value.get("schema").and_then(Value::as_str) {
            Some(SCHEMA) => {}
            Some(other) => return Err(SummaryError::OtherSchema(other.to_owned())),
            None => return Err(SummaryError::NoSchema),
        }
        let summary: Self = serde_json::from_value(value).map_err(SummaryError::Content)?;
        if let Some(time) = summary.times_ms.iter().find(|time| !time.is_finite() || **time < 0.0) {
            return Err(SummaryError::Time(*time));
        }
        let operators = summary.operators().map(|one| (&one.operator, one.median));
        let medians = operators.chain(summary.op_types().map(|one| (&one.op_type, one.median)));
        let outside =
            medians.filter(|(_, median)| !median.is_inside_of_its_interval()).map(|(name, _)| name.clone()).next();
        match outside {
            Some(name) => Err(SummaryError::Median(name)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_the_interval_that_the_file_says() {
        let median = SummaryMedian { median_ns: 2.0, median_interval_95_ns: Some((1.5, 3.0)) };
        assert_eq!((median.estimate().median, median.estimate().interval), (2.0, Some((1.5, 3.0))));
        let earlier = SummaryMedian { median_ns: 2.0, median_interval_95_ns: None };
        assert_eq!(earlier.estimate().interval, None);
    }
}
