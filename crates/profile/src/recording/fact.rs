//! The facts of a recording: the content of each kind of records, how it is read from a record, which runs it belongs
//! to, and how a timeline shows it. A new kind of records needs a new fact here, and the compiler then points at the
//! readers and exporters.

use opscope_clock::Ticks;
use opscope_model::Iteration;
use opscope_onnx::OperatorId;
use opscope_trace::{
    AllocationOperation, AllocationRecord, CopyOperation, CopyRecord, Correlation, CorrelationId, CounterRecord,
    DispatchRecord, EngineCallOperation, EngineCallRecord, Kind, MarkerOperation, MarkerRecord, PathLevel,
    RetirementRecord, RunOperation, RunRecord,
};
use zerocopy::FromBytes;

/// The kind of a call of the engine.
pub use opscope_trace::EngineCallOperation as Call;
/// The purpose of a run.
pub use opscope_trace::RunOperation as RunKind;

/// A fact in a recording. All ticks are raw: [`Recording::calibration`](crate::Recording::calibration) turns them into
/// time.
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

/// A span of time.
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
    /// The start and end of the engine's run.
    pub span: Span,
    /// The start and end of copying its inputs to the engine; `None` if they were not recorded.
    pub upload: Option<Span>,
    /// The start and end of copying its outputs from the engine; `None` if they were not recorded.
    pub download: Option<Span>,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
    /// Its kind. Only measured runs are part of statistics.
    pub kind: RunKind,
    /// Whether it failed. Failed runs are also excluded from every statistic.
    pub failed: bool,
}

/// Returns the label of a run of this kind: `warm-up run`, `run`, or `run without times`.
pub(crate) fn run_label(kind: RunKind) -> &'static str {
    match kind {
        RunKind::WarmUp => "warm-up run",
        RunKind::Measured => "run",
        RunKind::Untimed => "run without times",
    }
}

/// One execution of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchFact {
    /// The number of the run.
    pub run: u64,
    /// The number of the plan.
    pub plan: u64,
    /// The kernel's position in the plan.
    pub kernel: u32,
    /// The system's number of the thread that reported it.
    pub thread: u32,
    /// The start and end.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
    /// The device that it ran on: 0 for the host.
    pub device: u32,
    /// The iterations of bodies that it is part of, outermost first; empty for an operator of the main graph.
    pub path: Box<[Iteration]>,
}

/// A copy between the user's tensors and the engine's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyFact {
    /// The number of the run.
    pub run: u64,
    /// The direction.
    pub direction: Direction,
    /// The number of bytes.
    pub bytes: u64,
    /// The system's number of the thread.
    pub thread: u32,
    /// The start and end.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// The direction of a copy.
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
    /// The start and end.
    pub span: Span,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// The value of a counter at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleFact {
    /// The counter's number.
    pub counter: u32,
    /// When it was read.
    pub at: Ticks,
    /// The value, in the counter's unit.
    pub value: f64,
}

/// A range or a moment that the user's code named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerFact {
    /// The number of its name.
    pub name: u32,
    /// The system's number of the thread.
    pub thread: u32,
    /// The start and end. They are equal for a mark. A range that was open at the end of the recording ends there.
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
    /// When it happened.
    pub at: Ticks,
    /// The ids of the work that it belongs to.
    pub correlation: Correlation,
}

/// The retirement of a correlation id: no later record has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetirementFact {
    /// The id.
    pub correlation: CorrelationId,
    /// When it happened.
    pub at: Ticks,
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

impl Fact {
    /// Returns the fact in a record's payload; `None` if this version does not know such a fact, or the payload has
    /// another length.
    pub fn read(kind: Kind, payload: &[u8]) -> Option<Self> {
        match kind {
            Kind::OperatorDispatch => {
                let (record, tail) = DispatchRecord::read_from_prefix(payload).ok()?;
                Some(Fact::Dispatch(DispatchFact {
                    run: record.run,
                    plan: record.plan.0,
                    kernel: record.kernel.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                    device: record.device,
                    path: path(tail)?,
                }))
            }
            Kind::Run => {
                let record = RunRecord::read_from_bytes(payload).ok()?;
                Some(Fact::Run(RunFact {
                    run: record.run,
                    plan: record.plan.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    upload: span(record.upload_start, record.upload_end),
                    download: span(record.download_start, record.download_end),
                    correlation: record.correlation,
                    kind: RunOperation::from_raw(record.operation).unwrap_or(RunKind::Measured),
                    failed: record.failed != 0,
                }))
            }
            Kind::TensorCopy => {
                let record = CopyRecord::read_from_bytes(payload).ok()?;
                let out = CopyOperation::from_raw(record.operation) == Some(CopyOperation::DeviceToHost);
                Some(Fact::Copy(CopyFact {
                    run: record.run,
                    direction: if out { Direction::Out } else { Direction::In },
                    bytes: record.bytes,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                }))
            }
            Kind::TensorAllocation => {
                let record = AllocationRecord::read_from_bytes(payload).ok()?;
                Some(Fact::Allocation(AllocationFact {
                    operation: AllocationOperation::from_raw(record.operation)?,
                    address: record.address,
                    bytes: record.bytes,
                    thread: record.thread.0,
                    at: record.end,
                    correlation: record.correlation,
                }))
            }
            Kind::Marker => {
                let record = MarkerRecord::read_from_bytes(payload).ok()?;
                Some(Fact::Marker(MarkerFact {
                    name: record.name.0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                    operation: MarkerOperation::from_raw(record.operation)?,
                }))
            }
            Kind::Counter => {
                let record = CounterRecord::read_from_bytes(payload).ok()?;
                Some(Fact::Sample(SampleFact { counter: record.name.0, at: record.time, value: record.value }))
            }
            Kind::EngineCall => {
                let record = EngineCallRecord::read_from_bytes(payload).ok()?;
                let call = EngineCallOperation::from_raw(record.operation)?;
                Some(Fact::Call(CallFact {
                    run: call.belongs_to_run().then_some(record.run),
                    call,
                    failed: record.failed != 0,
                    thread: record.thread.0,
                    span: Span { start: record.start, end: record.end },
                    correlation: record.correlation,
                }))
            }
            Kind::CorrelationRetirement => {
                let record = RetirementRecord::read_from_bytes(payload).ok()?;
                Some(Fact::Retirement(RetirementFact { correlation: record.correlation, at: record.time }))
            }
        }
    }

    /// Returns when its record was emitted, as far as the record contains it. A run's record is emitted later, at the
    /// end of the run's correlation.
    pub(crate) fn end(&self) -> Ticks {
        match self {
            Fact::Run(run) => run.download.map_or(run.span.end, |download| download.end),
            Fact::Dispatch(dispatch) => dispatch.span.end,
            Fact::Copy(copy) => copy.span.end,
            Fact::Call(call) => call.span.end,
            Fact::Marker(marker) => marker.span.end,
            Fact::Sample(sample) => sample.at,
            Fact::Allocation(allocation) => allocation.at,
            Fact::Retirement(retirement) => retirement.at,
        }
    }

    /// Returns to which runs this fact belongs, for a timeline that shows only some of them.
    pub(crate) fn belonging(&self) -> Belonging<'_> {
        match self {
            Fact::Run(run) => Belonging::Run(run.run),
            Fact::Dispatch(dispatch) => Belonging::Run(dispatch.run),
            Fact::Copy(copy) => Belonging::Run(copy.run),
            Fact::Call(call) => call.run.map_or(Belonging::Everywhere, Belonging::Run),
            Fact::Allocation(allocation) => Belonging::Correlation(allocation.correlation.internal),
            Fact::Marker(marker) => Belonging::Times(marker.span),
            Fact::Sample(sample) => Belonging::Sample(sample),
            Fact::Retirement(_) => Belonging::Nowhere,
        }
    }

    /// Returns how a timeline shows it.
    pub(crate) fn appearance(&self) -> Appearance<'_> {
        match self {
            Fact::Run(_) | Fact::Dispatch(_) => Appearance::InRun,
            Fact::Call(call) => {
                let run = call.run.map(Note::Number).unwrap_or(Note::Missing);
                let mut notes = vec![("run", run)];
                if call.failed {
                    notes.push(("failed", Note::True));
                }
                let (track, title) = (Track { number: 1, title: "engine calls" }, call.call.name());
                Appearance::Slice(Slice {
                    track,
                    thread: call.thread,
                    category: "engine_call",
                    title,
                    span: call.span,
                    notes,
                })
            }
            Fact::Copy(copy) => {
                let notes = vec![("run", Note::Number(copy.run)), ("bytes", Note::Number(copy.bytes))];
                let (track, title) = (Track { number: 2, title: "copies" }, copy.direction.name());
                Appearance::Slice(Slice { track, thread: copy.thread, category: "copy", title, span: copy.span, notes })
            }
            Fact::Sample(sample) => Appearance::Counter(sample),
            Fact::Allocation(allocation) => Appearance::Memory(allocation),
            Fact::Marker(marker) => Appearance::Marker(marker),
            Fact::Retirement(_) => Appearance::Nothing,
        }
    }
}

/// The runs that a fact belongs to, for a timeline that shows only some of the runs.
pub(crate) enum Belonging<'a> {
    /// This run.
    Run(u64),
    /// The run that has this id.
    Correlation(CorrelationId),
    /// The runs that it overlaps with.
    Times(Span),
    /// The runs near it. A few samples between runs are also shown.
    Sample(&'a SampleFact),
    /// All runs.
    Everywhere,
    /// No run.
    Nowhere,
}

/// How a timeline shows a fact.
pub(crate) enum Appearance<'a> {
    /// As a part of its run, to which [`Groups`](super::Groups) assigns it.
    InRun,
    /// As a slice on a side track of its thread, because it overlaps with runs.
    Slice(Slice),
    /// As the value of a counter.
    Counter(&'a SampleFact),
    /// As a change of the memory that the engine holds.
    Memory(&'a AllocationFact),
    /// As a marker of the user's code.
    Marker(&'a MarkerFact),
    /// Not at all.
    Nothing,
}

/// A slice on a side track of a thread.
pub(crate) struct Slice {
    pub track: Track,
    pub thread: u32,
    pub category: &'static str,
    pub title: &'static str,
    pub span: Span,
    pub notes: Vec<(&'static str, Note)>,
}

/// A kind of side track. Each thread may have one of each kind.
pub(crate) struct Track {
    /// Its number, from 1.
    pub number: u64,
    /// What it shows.
    pub title: &'static str,
}

/// The notes of a slice.
pub(crate) enum Note {
    Number(u64),
    True,
    Missing,
}

/// Returns the path that follows the record of a dispatch, or `None` if these bytes are not a whole number of levels.
fn path(tail: &[u8]) -> Option<Box<[Iteration]>> {
    let levels = tail.chunks(size_of::<PathLevel>()).map(|level| PathLevel::read_from_bytes(level).ok());
    let iteration = |level: PathLevel| Iteration { operator: OperatorId::new(level.operator), index: level.iteration };
    levels.map(|level| level.map(iteration)).collect()
}

/// Returns a span, or `None` if its ticks are 0, which means that the record does not have it.
fn span(start: Ticks, end: Ticks) -> Option<Span> {
    (start.as_raw() != 0).then_some(Span { start, end })
}
