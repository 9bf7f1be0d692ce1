use opscope_clock::Ticks;
use opscope_model::Iteration;
use opscope_trace::{AllocationOperation, Correlation, CorrelationId, MarkerOperation};

/// Something that happened, as a recording holds it. All ticks are raw:
/// [`Recording::calibration`](crate::Recording::calibration) turns them into time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A run.
    Run(RunFact),
    /// A dispatch.
    Dispatch(DispatchFact),
    /// Inputs or outputs were copied.
    Copy(CopyFact),
    /// The engine was called.
    Call(CallFact),
    /// A counter was read.
    Sample(SampleFact),
    /// The user's code marked something.
    Marker(MarkerFact),
    /// The engine allocated or freed the memory of a tensor.
    Allocation(AllocationFact),
    /// A correlation id was retired.
    Retirement(RetirementFact),
}

/// From when to when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The beginning.
    pub start: Ticks,
    /// The end.
    pub end: Ticks,
}

/// One inference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunFact {
    /// The number of the run.
    pub run: u64,
    /// The number of the plan that ran.
    pub plan: u64,
    /// The system's number of the thread it ran on.
    pub thread: u32,
    /// When the engine ran.
    pub span: Span,
    /// When its inputs were copied to the engine; `None` if that was not recorded.
    pub upload: Option<Span>,
    /// When its outputs were copied from the engine; `None` if that was not recorded.
    pub download: Option<Span>,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
    /// What it was for. Only measured runs are part of statistics.
    pub kind: RunKind,
    /// Whether it failed; such runs are left out of every statistic, too.
    pub failed: bool,
}

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunKind {
    /// It warms up.
    WarmUp,
    /// It is measured.
    #[default]
    Measured,
    /// It is done without times of its dispatches, to show what taking those times costs.
    Untimed,
}

impl RunKind {
    /// `warm-up run`, `run`, or `run without times`.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up run",
            Self::Measured => "run",
            Self::Untimed => "run without times",
        }
    }
}

/// One execution of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchFact {
    /// The number of the run.
    pub run: u64,
    /// The number of the plan.
    pub plan: u64,
    /// The kernel's place in the plan.
    pub kernel: u32,
    /// The system's number of the thread that reported it.
    pub thread: u32,
    /// When.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
    /// The iterations of bodies that it is part of, outermost first; empty for an operator of the main graph.
    pub path: Box<[Iteration]>,
}

/// A copy between where the user's tensors lie and where the engine computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyFact {
    /// The number of the run.
    pub run: u64,
    /// Which way.
    pub direction: Direction,
    /// How many bytes.
    pub bytes: u64,
    /// The system's number of the thread.
    pub thread: u32,
    /// When.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// Which way a copy goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To the engine.
    In,
    /// From the engine.
    Out,
}

/// A call of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallFact {
    /// The run that it was for.
    pub run: Option<u64>,
    /// What was called.
    pub call: Call,
    /// Whether the run failed, if it was a call to run.
    pub failed: bool,
    /// The system's number of the thread.
    pub thread: u32,
    /// When.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// What an engine is called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Call {
    /// Read a graph.
    Load,
    /// Get ready for inputs of given shapes.
    Plan,
    /// Take inputs.
    Upload,
    /// Run once.
    Run,
    /// Give outputs.
    Download,
    /// Write and read the profile of its own that the times of a run are taken from.
    Profile,
}

/// The value of a counter at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleFact {
    /// The counter's number.
    pub counter: u32,
    /// When it was read.
    pub at: Ticks,
    /// What it said, in the counter's unit.
    pub value: f64,
}

/// A range or a moment that the user's code named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerFact {
    /// The number of its name.
    pub name: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// When. A mark ends when it begins; a range that was open at the end of the recording ends there.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
    /// What was marked.
    pub operation: MarkerOperation,
}

/// A change of the memory that the engine holds for tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationFact {
    /// What happened.
    pub operation: AllocationOperation,
    /// The address of the memory.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
    /// The system's number of the thread.
    pub thread: u32,
    /// When.
    pub at: Ticks,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// The retirement of a correlation id: no later record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetirementFact {
    /// The id.
    pub correlation: CorrelationId,
    /// When.
    pub at: Ticks,
}

impl Call {
    /// Returns the name, as in `load`.
    pub fn name(self) -> &'static str {
        match self {
            Call::Load => "load",
            Call::Plan => "plan",
            Call::Upload => "upload",
            Call::Run => "run",
            Call::Download => "download",
            Call::Profile => "profile",
        }
    }

    /// Returns whether such a call is made for a run; the others are made for the whole model.
    pub fn belongs_to_run(self) -> bool {
        matches!(self, Call::Upload | Call::Run | Call::Download | Call::Profile)
    }
}

impl Direction {
    /// Returns the name: `copy_in` or `copy_out`.
    pub fn name(self) -> &'static str {
        match self {
            Direction::In => "copy_in",
            Direction::Out => "copy_out",
        }
    }
}
