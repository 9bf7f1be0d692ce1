//! Where the time of a run goes.

mod collect;
mod histogram;
mod layers;
pub(crate) mod memory;
mod parts;
mod ranges;
mod rows;
mod series;
pub(crate) mod spread;
mod tensor_memory;
mod text;
mod work;
mod work_text;

use opscope_model::Fidelity;
use opscope_onnx::CodeOrigin;
use opscope_roofline::Roofline;
use serde::Serialize;

pub use self::collect::Distribution;
pub use self::histogram::TimeHistogram;
pub use self::layers::Layer;
pub use self::series::{OperatorSeries, Series};
pub use self::tensor_memory::{MemoryOfOperator, MemoryOverTime, MemoryPoint};
pub use self::work::Work;
use crate::recording::display_name;

/// What this version gives.
pub(crate) const SCHEMA: &str = "opscope.account/1";

/// The closed account of the measured runs' time: operators, kernels that the engine added, between them, taking times, in and out make 100 %. Runs that warmed
/// up, failed, or of which dispatches are missing are left out. All times are nanoseconds.
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
    /// Which runs count.
    pub runs: RunCounts,
    /// The time of a run.
    pub run: RunTimes,
    /// Where it goes; `None` where dispatches were not recorded, or there is no run that counts.
    pub shares: Option<Shares>,
    /// The resolution of the times of kernels, in nanoseconds; 1 where they are as fine as the clock.
    pub time_resolution_ns: u64,
    /// The engine's own work on the profile that times are taken from, after runs. It lies outside of the runs' time. `None`
    /// for an engine that needs none, or if calls were not recorded.
    pub engine_profile: Option<ProfileTimes>,
    /// The runs without times of their dispatches, beside which the cost of taking those times shows. `None` for an engine whose
    /// times cost next to nothing.
    pub untimed: Option<UntimedRuns>,
    /// Copies of inputs and outputs. They lie outside of the runs' time.
    pub copies: Vec<CopyTimes>,
    /// The memory that the engine held for tensors; `None` if it was not recorded, or the recording is incomplete.
    pub tensor_memory: Option<TensorMemoryUse>,
    /// Operators of the file, by median time.
    pub operators: Vec<OperatorTimes>,
    /// Operator types, by median time.
    pub op_types: Vec<TypeTimes>,
    /// The ranges of the user's code by name, by time; those around runs that do not count among them.
    pub ranges: Vec<RangeTimes>,
    /// What the machine reaches, if the operators were [compared](Account::compare_with) with it.
    pub roofline: Option<Roofline>,
}

/// How many runs there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RunCounts {
    /// Measured runs, which count.
    pub measured: u64,
    /// Warm-up runs.
    pub warm_up: u64,
    /// Failed runs.
    pub failed: u64,
    /// Runs of which dispatches, or the run's own record, are missing.
    pub partial: u64,
}

/// The time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RunTimes {
    /// Of all together.
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
    /// While at least one operator was executed.
    pub operators: Share,
    /// While only kernels were executed that the engine added on its own: they stand for no operator of the file.
    pub added: Share,
    /// Between the first kernel's start and the last one's end, while none was executed.
    pub between: Share,
    /// Between kernels, too: what taking their times adds to a run, which is how much a run without those times is shorter. 0 where
    /// there were no such runs.
    pub profile: Share,
    /// Before the first kernel and after the last one.
    pub in_out: Share,
    /// What is in none of these parts, which are measured each on its own; below 0 where times are in two of them. More than
    /// [`MOST_REST`](Self::MOST_REST) of a run is a fault of the engine's times.
    pub rest: Share,
    /// Dispatches of a run, on average.
    pub dispatches_per_run: f64,
    /// The time between kernels, for each dispatch: all together.
    pub between_ns_per_dispatch: f64,
    /// The same, as the median over the runs.
    pub median_between_ns_per_dispatch: f64,
}

impl Shares {
    /// The most that may be in no part of a run, in percent.
    pub const MOST_REST: f64 = 1.0;
}

/// One part of the runs' time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Share {
    /// Of all runs together.
    pub total_ns: f64,
    /// Of a run, the mean.
    pub mean_ns: f64,
    /// Of a run, the median.
    pub median_ns: f64,
    /// Of all runs' time.
    pub percent: f64,
}

/// Copies in one direction, of measured runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CopyTimes {
    /// `copy_in` or `copy_out`.
    pub direction: &'static str,
    /// How many.
    pub count: u64,
    /// Of one, on average.
    pub mean_ns: f64,
    /// Bytes of one, on average.
    pub mean_bytes: f64,
}

/// What an engine does after each measured run for the profile that times are taken from: it writes and reads it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ProfileTimes {
    /// How many.
    pub count: u64,
    /// Of one, on average.
    pub mean_ns: f64,
}

/// Runs without times of their dispatches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UntimedRuns {
    /// How many.
    pub count: u64,
    /// Of one, the median.
    pub median_ns: f64,
}

/// The memory that the engine held for tensors: inputs, outputs, and what operators computed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TensorMemoryUse {
    /// The most bytes that a run held at once. All runs count, also warm-up runs.
    pub peak_bytes: u64,
    /// The number of allocations, in all runs together.
    pub allocations: u64,
}

/// The time of an operator of the file. A fused kernel's time counts for the first of its operators. What the engine added has
/// rows of its own. The time of an operator with bodies excludes that of operators in them, which have rows of their own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OperatorTimes {
    /// Its name in the file; the engine's name for a kernel that the engine added.
    pub operator: String,
    /// Where it lies in the program that the file was exported from, if the file says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// Its type; what the engine executes, if it added the kernel.
    pub op_type: String,
    /// Whether this is no operator of the file, but a kernel that the engine added.
    pub added: bool,
    /// What the engine executes for it.
    pub kernel_ops: Vec<String>,
    /// The other operators that its kernels execute.
    pub fused: Vec<String>,
    /// Whether the engine itself says that these kernels are this operator; otherwise it was inferred.
    pub exact: bool,
    /// Dispatches of all runs together.
    pub dispatches: u64,
    /// Of all runs together.
    pub total_ns: f64,
    /// Of a run, the mean.
    pub mean_ns: f64,
    /// Of a run in which it was executed, the median.
    pub median_ns: f64,
    /// The 95 % confidence interval of the median. It allows for runs that depend on one another: those within 100 ms count as
    /// one. `None` for fewer than 6 independent runs.
    pub median_interval_95_ns: Option<(f64, f64)>,
    /// The 90th percentile, to within 1 %.
    pub p90_ns: f64,
    /// The 99th percentile, to within 1 %.
    pub p99_ns: f64,
    /// Of a run that takes the median time: the median, or that part of it which is the part of the runs that executed it.
    pub percent: f64,
    /// What it computes and moves, with what is fused into it. `None` for what the engine added, and in older recordings.
    pub work: Option<Work>,
}

impl OperatorTimes {
    /// Returns what people call it: `layers.0.c1 (Conv)` if the file says in which module it lies, and its name otherwise.
    pub fn display_name(&self) -> &str {
        display_name(&self.operator, self.origin.as_ref())
    }
}

/// The time of all operators of a type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeTimes {
    /// The type; what the engine executes, if it added the kernels.
    pub op_type: String,
    /// Whether these are no operators of the file, but kernels that the engine added.
    pub added: bool,
    /// How many operators of this type were executed.
    pub operators: u64,
    /// What the engine executes for them.
    pub kernel_ops: Vec<String>,
    /// Dispatches of all runs together.
    pub dispatches: u64,
    /// Of all runs together.
    pub total_ns: f64,
    /// Of a run, the mean.
    pub mean_ns: f64,
    /// Of a run in which it was executed, the median.
    pub median_ns: f64,
    /// The 95 % confidence interval of the median. It allows for runs that depend on one another: those within 100 ms count as
    /// one. `None` for fewer than 6 independent runs.
    pub median_interval_95_ns: Option<(f64, f64)>,
    /// Of a run that takes the median time: the median, or that part of it which is the part of the runs that executed it.
    pub percent: f64,
    /// What they compute and move, with what is fused into them. `None` for what the engine added, and in older recordings.
    pub work: Option<Work>,
}

/// The times of all ranges that the user's code gave the same name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RangeTimes {
    /// The name.
    pub range: String,
    /// How many.
    pub count: u64,
    /// Of all together.
    pub total_ns: f64,
    /// Of one, the mean.
    pub mean_ns: f64,
    /// Of one, the median, to within 1 %.
    pub median_ns: f64,
}
