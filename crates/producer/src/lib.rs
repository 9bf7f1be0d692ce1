//! The border between a program that runs models, the *producer*, and libraries that receive reports of what it does,
//! its *consumers*.
//!
//! A consumer is a shared library that exports the C function `opscope_attach_producer`. The producer finds it and
//! passes it a table of functions ([`layout::Table`]) that do nothing at first. The consumer overwrites those that it
//! wants to be called. `include/opscope_producer.h` declares the types for C.
//!
//! *In a producer*: call [`attach`] once, keep a [`LoadedModel`] beside each loaded model and a [`LoadedPlan`] beside
//! each of its plans, and begin a [`RunFeed`] with each run.
//!
//! *In a consumer*: include the header, or implement [`Consumer`] and take the [`OfferedTable`].
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `find` | searches for consumers and attaches them |
//! | `feed` | what a producer reports to its consumers: models, plans, runs |
//! | `kernels` | in a consumer: numbers and names of kernels |
//! | `table` | in a consumer: a producer's table, and setting its functions |
//! | `consumers` | the attached consumers, and calls of their functions |
//! | `turn` | waiting for a thread that calls foreign functions |
//! | `layout` | the table and the structs that its functions receive, as C sees them |

mod consumers;
mod feed;
mod find;
mod kernels;
pub mod layout;
mod table;
mod turn;

pub use feed::{Copied, Direction, Fidelity, Interest, KernelFacts, LoadedModel, LoadedPlan};
pub use feed::{MemoryOperation, ModelFacts, OperatorFacts, RunFeed};
pub use find::{Exporter, NoLibrary, attach, exporters, exports, is_same_object};
pub use find::{LIBRARY_DIRECTORY, LIBRARY_NAMES, OfferedTool, Report, Search, SkipReason, Skipped, ToolRefusal};
pub use kernels::{forget_plan, keep_text, kernel_name, kernel_number, kernels_lock, number_kernels};
pub use layout::Iteration;
pub use table::{Consumer, FromProducer, OfferedTable, ProducerTable, Wanted};
pub use turn::Turn;

/// Returns whether a consumer is attached.
#[inline]
pub fn is_any_attached() -> bool {
    consumers::count() > 0
}
