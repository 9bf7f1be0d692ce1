//! The account: where the time of a run goes.

mod collect;
mod devices;
mod histogram;
mod layers;
mod parts;
mod rows;
mod series;
pub(crate) mod spread;
mod tensor_memory;
mod text;
#[cfg(test)]
mod traced_tests;
mod work;

use opscope_model::Fidelity;
use opscope_onnx::CodeOrigin;
use opscope_roofline::Roofline;
use serde::Serialize;

pub use self::collect::Distribution;
pub use self::devices::DeviceTimes;
pub use self::histogram::TimeHistogram;
pub use self::layers::Layer;
pub use self::series::{GroupBy, OperatorSeries, Series};
pub use self::tensor_memory::{MemoryOfOperator, MemoryOverTime, MemoryPoint};
pub use self::work::Work;
use crate::recording::display_name;

/// The schema of this version.
pub(crate) const SCHEMA: &str = "opscope.account/1";

/// The account of the time of the measured runs. Its parts add up to 100 %: operators, kernels that the engine added,
/// the time between them, the cost of taking times, and inputs and outputs. Warm-up runs, failed runs, and runs with
/// missing dispatches are excluded. All times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Account {
    /// `opscope.account/1`.
    pub schema: &'static str,
    /// The model's path.
    pub model: String,
    /// The engine's name.
    pub engine: String,
    /// `optimised` or `exact`.
    pub fidelity: Fidelity,
    /// Whether the recording is complete.
    pub complete: bool,
    /// The numbers of runs.
    pub runs: RunCounts,
    /// The time of a run.
    pub run: RunTimes,
    /// The parts of that time; `None` if dispatches were not recorded, or no run counts.
    pub shares: Option<Shares>,
    /// The resolution of the times of kernels, in nanoseconds; 1 if they are as fine as the clock.
    pub time_resolution_ns: u64,
    /// What each device did, and why it waited. Empty for a recording without devices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceTimes>,
    /// The engine's own work, after runs, on the profile that times are taken from. It is not part of the runs' time.
    /// `None` for an engine that needs no such work, or if calls were not recorded.
    pub engine_profile: Option<ProfileTimes>,
    /// The runs without times of their dispatches, which show the cost of taking those times. `None` for an engine
    /// whose times cost next to nothing.
    pub untimed: Option<UntimedRuns>,
    /// Copies of inputs and outputs. They are not part of the runs' time.
    pub copies: Vec<CopyTimes>,
    /// The memory that the engine held for tensors; `None` if it was not recorded, or the recording is incomplete.
    pub tensor_memory: Option<TensorMemoryUse>,
    /// The operators of the file, sorted by median time.
    pub operators: Vec<OperatorTimes>,
    /// The types of operators, sorted by median time.
    pub op_types: Vec<TypeTimes>,
    /// The ranges of the user's code by name, sorted by time. They include ranges around runs that do not count.
    pub ranges: Vec<RangeTimes>,
    /// The machine's limits, if the operators were [compared](Account::compare_with) with them.
    pub roofline: Option<Roofline>,
}

/// The numbers of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RunCounts {
    /// Measured runs. Only these count.
    pub measured: u64,
    /// Warm-up runs.
    pub warm_up: u64,
    /// Failed runs.
    pub failed: u64,
    /// Runs with missing dispatches, or whose own record is missing.
    pub partial: u64,
}

/// The time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RunTimes {
    /// The total.
    pub total_ns: f64,
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub median_ns: f64,
    /// The shortest.
    pub min_ns: f64,
    /// The longest.
    pub max_ns: f64,
}

/// The parts of the runs' time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shares {
    /// The time during which at least one operator was executed.
    pub operators: Share,
    /// The time during which only kernels were executed that stand for no operator of the file, because the engine
    /// added them on its own.
    pub added: Share,
    /// The time between the first kernel's start and the last one's end during which none was executed.
    pub between: Share,
    /// The cost of taking the times of kernels, which is also spent between kernels. It is how much shorter a run
    /// without those times is. 0 if there were no such runs.
    pub profile: Share,
    /// The time before the first kernel and after the last one.
    pub in_out: Share,
    /// The difference between a run and the sum of these parts, each of which is measured separately. It is negative if
    /// some time counts in two parts. More than [`MOST_REST`](Self::MOST_REST) of a run means that the engine's times
    /// are wrong.
    pub rest: Share,
    /// The mean number of dispatches in a run.
    pub dispatches_per_run: f64,
    /// The total time between kernels, divided by the number of dispatches.
    pub between_ns_per_dispatch: f64,
    /// The same per run, as the median over the runs.
    pub median_between_ns_per_dispatch: f64,
}

impl Shares {
    /// The largest acceptable rest, in percent.
    pub const MOST_REST: f64 = 1.0;
}

/// A part of the runs' time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Share {
    /// The total of all runs.
    pub total_ns: f64,
    /// The mean of a run.
    pub mean_ns: f64,
    /// The median time of a run.
    pub median_ns: f64,
    /// Its share of all runs' time.
    pub percent: f64,
}

/// Returns the share of a part; 0 of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// The copies of measured runs in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CopyTimes {
    /// `copy_in` or `copy_out`.
    pub direction: &'static str,
    /// Their number.
    pub count: u64,
    /// The mean duration of one.
    pub mean_ns: f64,
    /// The mean number of bytes of one.
    pub mean_bytes: f64,
}

/// The time that an engine takes after each measured run to write and read the profile that times are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfileTimes {
    /// The number of such times.
    pub count: u64,
    /// The mean duration of one.
    pub mean_ns: f64,
}

/// Runs without times of their dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UntimedRuns {
    /// The number of such runs.
    pub count: u64,
    /// The median duration of one.
    pub median_ns: f64,
}

/// The memory that the engine held for tensors: inputs, outputs, and what operators computed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TensorMemoryUse {
    /// The most bytes that a run held at once. All runs count, including warm-up runs.
    pub peak_bytes: u64,
    /// The number of allocations, in all runs together.
    pub allocations: u64,
}

/// The times of an operator of the file. A fused kernel's time counts for the first of its operators. Kernels that the
/// engine added have rows of their own. The time of an operator with bodies excludes that of the operators in them,
/// which have their own rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorTimes {
    /// Its name in the file; the engine's name for a kernel that the engine added.
    pub operator: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// Its type; the engine's operation for a kernel that the engine added.
    pub op_type: String,
    /// Whether this is not an operator of the file, but a kernel that the engine added.
    pub added: bool,
    /// What the engine executes for it.
    pub kernel_ops: Vec<String>,
    /// The other operators that its kernels execute.
    pub fused: Vec<String>,
    /// Whether the engine itself states that these kernels execute this operator; if not, that was inferred.
    pub exact: bool,
    /// The number of dispatches in all runs.
    pub dispatches: u64,
    /// The total of all runs.
    pub total_ns: f64,
    /// The mean of a run.
    pub mean_ns: f64,
    /// The median of the runs that executed it.
    pub median_ns: f64,
    /// The 95 % confidence interval of the median. It allows for runs that depend on one another: those within 100 ms
    /// count as one. `None` for fewer than 6 independent runs.
    pub median_interval_95_ns: Option<(f64, f64)>,
    /// The 90th percentile, to within 1 %.
    pub p90_ns: f64,
    /// The 99th percentile, to within 1 %.
    pub p99_ns: f64,
    /// Its share of a run of median length, in percent. The median of an operator that only some runs executed counts
    /// only for their share of the runs.
    pub percent: f64,
    /// The work that it does, including that of operators fused into it. `None` for kernels that the engine added, and
    /// in older recordings.
    pub work: Option<Work>,
}

impl OperatorTimes {
    /// Returns the display name: `layers.0.c1 (Conv)` if the file says which module it is in, or else its name.
    pub fn display_name(&self) -> &str {
        display_name(&self.operator, self.origin.as_ref())
    }
}

/// The times of all operators of a type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeTimes {
    /// The type; the engine's operation for kernels that the engine added.
    pub op_type: String,
    /// Whether these are not operators of the file, but kernels that the engine added.
    pub added: bool,
    /// The number of operators of this type that were executed.
    pub operators: u64,
    /// What the engine executes for them.
    pub kernel_ops: Vec<String>,
    /// The number of dispatches in all runs.
    pub dispatches: u64,
    /// The total of all runs.
    pub total_ns: f64,
    /// The mean of a run.
    pub mean_ns: f64,
    /// The median of the runs that executed it.
    pub median_ns: f64,
    /// The 95 % confidence interval of the median. It allows for runs that depend on one another: those within 100 ms
    /// count as one. `None` for fewer than 6 independent runs.
    pub median_interval_95_ns: Option<(f64, f64)>,
    /// Its share of a run of median length, in percent. The median of an operator that only some runs executed counts
    /// only for their share of the runs.
    pub percent: f64,
    /// The work that they do, including that of operators fused into them. `None` for kernels that the engine added,
    /// and in older recordings.
    pub work: Option<Work>,
}

/// The times of all ranges of the user's code that have the same name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RangeTimes {
    /// The name.
    pub range: String,
    /// Their number.
    pub count: u64,
    /// The total.
    pub total_ns: f64,
    /// The mean of one.
    pub mean_ns: f64,
    /// The median of one, to within 1 %.
    pub median_ns: f64,
}
