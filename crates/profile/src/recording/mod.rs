//! The recording: the directory that the profiler writes.

mod abandoned_recording;
#[cfg(test)]
mod damage_tests;
pub(crate) mod fact;
mod frame;
mod groups;
mod manifest;
mod names;
mod names_file;
mod own_times;
#[doc(hidden)]
pub mod packed;
mod reader;
mod record;
#[cfg(test)]
pub(crate) mod test_recording;
mod threads;
mod writer;

pub use abandoned_recording::close_abandoned;
pub use fact::*;
pub(crate) use fact::{Appearance, Belonging, Note, Slice, run_label};
pub use groups::{Groups, Item, RunGroup};
pub use manifest::{ClockInfo, ClockReading, EngineInfo, HostInfo, Manifest, ModelInfo, ProcessInfo, RecordCounts};
pub use names::{CounterNames, FusedOperator, KernelCost, KernelNames, TensorKind};
pub use reader::{Facts, Recording};

pub(crate) use manifest::{MANIFEST, SCHEMA};
pub(crate) use names::{NAMES, Names, NamesLine, display_name};
pub(crate) use own_times::own_times;
pub(crate) use threads::name_of_this_thread;
pub(crate) use writer::{BUFFER, LostRecords, RECORDS, RangeKey, RecordingWriter, RecordsFile, RecordsSize, remove};
