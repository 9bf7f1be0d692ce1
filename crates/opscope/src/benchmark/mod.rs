//! What `opscope benchmark` does: run a model many times, take the times, and watch what it does where asked for.

mod acl;
mod instruments;
mod interruptible;
mod job;
mod latency;
mod measure;
mod outputs;
mod place;
mod places;
mod report;
mod sets;
mod stage;
mod watch;

pub use acl::{AclError, apply as apply_acl_json};
pub use job::{DumpForm, InputWish, Instrumentation, Job, JobError, Surroundings};
pub use latency::{Latency, median_interval};
pub use measure::{Goal, MeasureError, Measurement, Progress, Repetition, measure};
pub use outputs::{OutputFormat, OutputWriter, WrittenFiles};
pub use place::{Place, PlaceError, remove_unfinished_places};
pub use places::run_name;
pub use report::{
    DebuggerSummary, DumpSummary, EngineSummary, FailedShapes, FileInfo, InputSummary, Measured, MemorySummary,
    ModelSummary, ProfileSummary, Report, ShapeTimes,
};
pub use stage::Stage;
pub use watch::{Capture, Watch};
