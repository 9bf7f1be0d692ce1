//! The profiler and the tracer: what ran and when.
//!
//! *While a model runs*, [`Profiler`] is an instrument: create it with a directory, let the engine call its observers,
//! and [`finish`](Profiler::finish) it. It writes a recording: raw records, names and a manifest that says whether
//! everything is there.
//!
//! Instead or in addition, [`Tracer`] emits the same records into the buffers of a program's own contexts
//! ([`opscope_trace::Context`]).
//!
//! *Afterwards*, [`Recording::open`] reads it, even if the process was killed. [`Recording::export`] writes timelines
//! and tables, and [`Recording::account`] says where the time of a run goes.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `profiler` | the instrument that leaves a recording |
//! | `tracer` | the instrument that emits into the contexts of the process, and the names of their plans |
//! | `export` | a file for each format: timelines and tables; which files opscope writes into a recording's directory |
//! | `account` | where the time of a run goes, and what it holds in memory |
//! | `interval` | percentiles, medians and their confidence intervals |
//! | `load` | how busy the machine was |
//! | `sampler` | the counters of the machine and the process |
//! | `run` | the observer of one run, whatever takes its records |
//! | `recording` | the directory on disk: records, names, manifest; writing and reading them |
//! | `options` | the switches, and the memory for records |
//! | `error` | what can fail |

#![forbid(unsafe_code)]

mod account;
mod error;
mod export;
mod interval;
mod load;
mod options;
mod profiler;
mod recording;
mod run;
mod sampler;
#[cfg(test)]
mod snapshots;
mod tracer;

pub use account::{
    Account, CopyTimes, DeviceTimes, Distribution, GroupBy, Layer, MemoryOfOperator, MemoryOverTime, MemoryPoint,
    OperatorSeries, OperatorTimes, ProfileTimes, RangeTimes, RunCounts, RunTimes, Series, Share, Shares, TimeHistogram,
    TypeTimes, UntimedRuns, Work,
};
pub use error::ProfileError;
pub use export::{Excerpt, Exported, Format, KernelLabels, LabelTable, ShownRuns, TimelineRuns};
pub use interval::{MedianEstimate, median_interval};
pub use interval::{Rank, carries_percentile, percentile};
pub use load::{Load, LoadMeter, ReferenceTimes};
pub use options::{ProfilerOptions, SwitchEffect, Switches};
pub use profiler::{Profiler, RecordingInfo};
/// The packed form of records, for the fuzzer and the benchmark of its readers and writers.
#[doc(hidden)]
pub use recording::packed;
// This exports every fact, so that a new kind of records needs no line here.
pub use export::is_written_name;
pub use recording::fact::*;
pub use recording::{
    BuiltKernel, BuiltOperator, ClockInfo, ClockReading, CounterNames, DeviceInfo, EngineInfo, Facts, FusedOperator,
    Groups, HostInfo, ImportedFrom, Item, KernelCost, KernelNames, Manifest, ModelInfo, NotImported, ProcessInfo,
    RecordCounts, Recording, RecordingBuilder, RunGroup, TensorKind, close_abandoned,
};
pub use tracer::{PlanNames, Tracer, plan_names};
