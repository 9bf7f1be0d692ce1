//! The border between a program that runs models, the *producer*, and libraries that receive what it does, its
//! *consumers*.
//!
//! A consumer is a shared library that exports the C function `opscope_attach_producer`. The producer finds it and
//! gives it a table of functions ([`layout::Table`]) that do nothing at first. The consumer overwrites those that it
//! wants to be called for. The types are declared for C in `include/opscope_producer.h`.
//!
//! *In a producer*: call [`attach`] once, keep a [`LoadedModel`] beside each model that is loaded and a [`LoadedPlan`] beside
//! each of its plans, and begin a [`RunFeed`] with each run.
//!
//! *In a consumer*: include the header, or implement [`Consumer`] and take the [`OfferedTable`].
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `find` | finds consumers and attaches them |
//! | `feed` | what a producer tells its consumers: models, plans, runs |
//! | `kernels` | in a consumer: numbers and names of kernels |
//! | `table` | in a consumer: a producer's table, and setting its functions |
//! | `consumers` | those that are attached, and calls of their functions |
//! | `turn` | waiting for a thread that calls foreign functions |
//! | `layout` | the table and the structs that its functions get, as C sees them |

mod consumers;
mod feed;
mod find;
mod kernels;
pub mod layout;
mod table;
mod turn;

pub use feed::{Copied, Direction, Fidelity, Interest, KernelFacts, LoadedModel, LoadedPlan};
pub use feed::{MemoryOperation, ModelFacts, OperatorFacts, RunFeed};
pub use find::{Exporter, attach, exporters, exports, is_same_object};
pub use find::{LIBRARY_DIRECTORY, LIBRARY_NAMES, OfferedTool, Report, Search, SkipReason, Skipped, ToolRefusal};
pub use kernels::{forget_plan, keep_text, kernel_name, kernel_number, kernels_lock, number_kernels};
pub use layout::Iteration;
pub use table::{Consumer, OfferedTable, ProducerTable, Told, Wanted};
pub use turn::Turn;

/// Returns whether a consumer is attached.
#[inline]
pub fn is_any_attached() -> bool {
    consumers::count() > 0
}
