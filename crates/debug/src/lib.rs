//! Stop a running model, look, and go on.
//!
//! A debugger is told what a program's runs do as [`Event`]s in two queues. An event of the sync queue parks exactly the
//! thread that raised it until the debugger has read and acknowledged it, with a [`Resume`] that says how the run goes
//! on; the events of the async queue ask for no answer.

#![forbid(unsafe_code)]

mod attachment;
mod breakpoint;
#[cfg(not(loom))]
pub mod client;
mod debugger;
mod doorbell;
mod error;
mod event;
pub mod expression;
mod first;
mod location;
mod notifier;
mod observer;
mod options;
mod plan;
#[cfg(not(loom))]
pub mod protocol;
mod queues;
mod recursion;
mod resume;
mod run;
#[cfg(not(loom))]
pub mod server;
#[cfg(not(loom))]
mod socket_path;
mod status;
mod stopped;
mod summary;
mod sync;
mod table;
mod thread;
#[cfg(not(loom))]
mod wire;

pub use attachment::Attachment;
pub use breakpoint::{
    BreakpointChange, BreakpointId, BreakpointInfo, BreakpointLocation, BreakpointSpec, Fate, Target, TargetError,
    Watched,
};
pub use debugger::{Debugger, LoadedModelHandle};
pub use error::DebugError;
pub use event::{
    Event, EventKind, EventName, EventSet, Exception, ModelId, Moment, NonFinite, OutputSummary, Place, Queue, Sequence,
};
pub use location::{FusedOperator, KernelInfo, Location, TensorInfo};
pub use options::AttachOptions;
pub use resume::Resume;
pub use status::{Account, LoadedModel, Release, ReleaseReason, RunState, Status, Stop};
pub use stopped::Stopped;
pub use summary::StatisticsSummary;
