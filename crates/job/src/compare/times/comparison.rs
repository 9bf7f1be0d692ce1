use std::path::PathBuf;

use opscope_profile::{EngineInfo, MedianEstimate};
use opscope_tensor::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::json_path;

/// The schema that this version writes.
pub(super) const SCHEMA: &str = "opscope.times/1";

/// How long two measurements took: B against A, the baseline. Times are nanoseconds; every one is the median over runs.
/// Differences are B - A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimesComparison {
    /// `opscope.times/1`.
    pub schema: &'static str,
    /// The baseline.
    pub a: Side,
    /// What is compared with the baseline.
    pub b: Side,
    /// Why A is the baseline.
    pub baseline: Baseline,
    /// What differs in the surroundings: engine, threads, machine, load.
    pub surroundings: Vec<SurroundingDifference>,
    /// How many times longer a fixed piece of work took during B than during A: from the quartiles of both, the least and the most.
    /// The intervals of the differences also include what B would have taken on a processor as fast as during A. `None` if one side did not measure it.
    pub slowdown: Option<(f64, f64)>,
    /// What limits the comparison, a sentence each.
    pub notes: Vec<String>,
    /// The time of a run.
    pub run: Change,
    /// The part of a run in which no operator is executed. `None` without times of operators.
    pub outside: Option<Change>,
    /// The operators, the largest difference first. Operators that the two sides fuse differently are in one row:
    /// together they did the same work.
    pub operators: Vec<OperatorChange>,
    /// All operators of a type together, the largest difference first.
    pub op_types: Vec<TypeChange>,
    /// The judgements of the thresholds; empty if there are none.
    pub judgements: Vec<Judgement>,
}

/// Why A is the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// It was measured before B.
    Older,
    /// The user chose it.
    Chosen,
    /// It was given second, and nothing says that one of the two is older.
    Second,
}

/// What times were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasurementKind {
    /// The directory of a recording.
    Recording,
    /// A `<run>_summary.json`.
    Summary,
}

/// One of the two measurements.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// The directory of the recording, or the file of the summary.
    #[serde(serialize_with = "json_path::path")]
    pub path: PathBuf,
    /// What it is.
    pub kind: MeasurementKind,
    /// The model's path, as the user gave it.
    pub model: String,
    /// XXH3 (64 bit) of the model's file, 16 hexadecimal digits.
    pub xxh3: Digest,
    /// What ran it.
    pub engine: EngineInfo,
    /// Whether everything that was requested is there.
    pub complete: bool,
    /// How many runs were measured.
    pub runs: u64,
    /// How long they took together, in seconds.
    pub run_seconds: f64,
    /// When it began, in nanoseconds since 1970. `None` in summaries of earlier versions.
    pub start_unix_ns: Option<u64>,
}

/// A fact about the surroundings that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SurroundingDifference {
    /// What differs.
    pub what: String,
    /// What it is in A; `None` if A does not say.
    pub a: Option<String>,
    /// What it is in B; `None` if B does not say.
    pub b: Option<String>,
}

/// How a time changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The median in A; `None` where A did not execute it.
    pub a_ns: Option<f64>,
    /// The median in B; `None` where B did not execute it.
    pub b_ns: Option<f64>,
    /// The 95 % confidence interval of A's median; `None` if there are too few runs, or no times of each run.
    pub a_interval_ns: Option<(f64, f64)>,
    /// The 95 % confidence interval of B's median.
    pub b_interval_ns: Option<(f64, f64)>,
    /// The difference of the medians. What only one side executed counts as 0 on the other one.
    pub difference_ns: f64,
    /// The 95 % confidence interval of the difference; `None` if one of the medians has none.
    pub difference_interval_ns: Option<(f64, f64)>,
    /// The difference, as a percentage of A's median.
    pub percent: Option<f64>,
    /// The 95 % confidence interval of this percentage.
    pub percent_interval: Option<(f64, f64)>,
}

/// The result of comparing a change with a threshold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The threshold, as it is written.
    pub threshold: String,
    /// Whether the threshold is exceeded: `true` if the whole confidence interval lies above it, `false` if no part of
    /// it does. `None` if that cannot be decided, because the threshold lies inside the interval or there is no
    /// interval.
    pub exceeded: Option<bool>,
    /// If that cannot be decided, the number of seconds for which both sides should be measured.
    pub measure_seconds: Option<u64>,
    /// What it is for: `run`, `operator NAME` or `type NAME`.
    pub of: String,
    /// What changed.
    pub change: Change,
}

/// How the time of an operator changed, or of several operators that the two sides fuse differently.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorChange {
    /// The operators' names in the file, the one that costs the most first; the engine's name for a kernel that it added.
    pub operators: Vec<String>,
    /// The type of the first one.
    pub op_type: String,
    /// Whether this is not an operator of the file, but a kernel that an engine added.
    pub added: bool,
    /// Which side executes it, and how.
    pub presence: Presence,
    /// The kernels of A: for each the operators that it executes. Empty for an added kernel.
    pub a_kernels: Vec<Vec<String>>,
    /// The kernels of B.
    pub b_kernels: Vec<Vec<String>>,
    /// The times.
    pub change: Change,
}

/// Which side executes an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Both, in kernels of the same operators.
    Both,
    /// Both, but in kernels of different operators.
    FusedOtherwise,
    /// Only B.
    New,
    /// Only A.
    Gone,
}

/// How the time of all operators of a type changed. A fused kernel's time counts for the type of its first operator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeChange {
    /// The type; what the engine executes, if it added the kernels.
    pub op_type: String,
    /// Whether these are not operators of the file, but kernels that an engine added.
    pub added: bool,
    /// The times.
    pub change: Change,
}

impl TimesComparison {
    /// Returns the comparison as JSON.
    pub fn json(&self) -> Value {
        serde_json::to_value(self).expect("its keys are texts")
    }
}

impl Change {
    /// Returns the change between two medians; `None` if neither side has one.
    pub(super) fn between(
        a: Option<MedianEstimate>,
        b: Option<MedianEstimate>,
        slowdown: Option<(f64, f64)>,
    ) -> Option<Self> {
        if a.is_none() && b.is_none() {
            return None;
        }
        let [a_ns, b_ns] = [a, b].map(|estimate| estimate.map(|estimate| estimate.median));
        let b_interval_ns = b.and_then(|b| b.interval);
        let b = match slowdown {
            Some((least, most)) => b.map(|b| b.including((most.recip(), least.recip()))),
            None => b,
        };
        let both = a.zip(b);
        let to_percent = |ratio: f64| 100.0 * (ratio - 1.0);
        // What one side does not execute takes no time there, which is certain.
        let alone = |estimate: Option<MedianEstimate>| estimate.and_then(|estimate| estimate.interval);
        let difference_interval_ns = match (a, b) {
            (Some(a), Some(b)) => a.difference_to(&b),
            (Some(_), None) => alone(a).map(|(low, high)| (-high, -low)),
            _ => alone(b),
        };
        Some(Self {
            a_ns,
            b_ns,
            a_interval_ns: alone(a),
            b_interval_ns,
            difference_ns: b_ns.unwrap_or(0.0) - a_ns.unwrap_or(0.0),
            difference_interval_ns,
            percent: both.filter(|(a, _)| a.median > 0.0).map(|(a, b)| to_percent(b.median / a.median)),
            percent_interval: both
                .and_then(|(a, b)| a.ratio_to(&b))
                .map(|(low, high)| (to_percent(low), to_percent(high))),
        })
    }

    /// Returns what the change costs a run, or saves it, in nanoseconds.
    pub fn cost(&self) -> f64 {
        self.difference_ns.abs()
    }

    /// Returns whether the interval of the difference does not include 0.
    pub fn is_significant(&self) -> bool {
        self.difference_interval_ns.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }
}

impl Presence {
    /// Returns its label in tables; empty for [`Both`](Self::Both).
    pub fn label(self) -> &'static str {
        match self {
            Self::Both => "",
            Self::FusedOtherwise => "fused otherwise",
            Self::New => "new",
            Self::Gone => "gone",
        }
    }
}
