//! What a producer reports to its consumers.

mod announcement;
mod clock;
mod model;
mod run;
mod text;
mod thread;

pub(crate) use clock::{nanos_now, start as start_clock};
pub(crate) use thread::current_thread;

pub use model::{Fidelity, KernelFacts, LoadedModel, LoadedPlan, ModelFacts, OperatorFacts};
pub use run::{Copied, Direction, Interest, MemoryOperation, RunFeed};
