//! The recording: the directory that the profiler writes.

mod abandoned_recording;
mod builder;
#[cfg(test)]
mod damage_tests;
pub(crate) mod fact;
mod frame;
mod groups;
mod manifest;
mod names;
mod names_file;
#[doc(hidden)]
pub mod packed;
mod reader;
mod record;
#[cfg(test)]
pub(crate) mod test_recording;
mod writer;

pub use abandoned_recording::close_abandoned;
pub use builder::{BuiltKernel, BuiltOperator, RecordingBuilder};
pub use fact::*;
pub(crate) use fact::{Appearance, Belonging, Note, Slice, run_label};
pub(crate) use groups::own_times;
pub use groups::{Groups, Item, RunGroup};
pub use manifest::{
    ClockInfo, ClockReading, DeviceInfo, EngineInfo, HostInfo, ImportedFrom, Manifest, ModelInfo, NotImported,
    ProcessInfo, RecordCounts,
};
pub(crate) use manifest::{MANIFEST, SCHEMA};
pub use names::{CounterNames, FusedOperator, KernelCost, KernelNames, TensorKind};
pub(crate) use names::{NAMES, Names, NamesLine, display_name};
pub(crate) use names_file::name_of_this_thread;
pub use reader::{Facts, Recording};
pub(crate) use writer::{BUFFER, LostRecords, RECORDS, RangeKey, RecordingWriter, RecordsFile, RecordsSize, remove};
