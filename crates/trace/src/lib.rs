//! Records, and the buffers that they wait in.
//!
//! *In a library* that has something to tell: ask [`wanted`], and [`emit`] a record. Where nobody listens that costs one
//! relaxed load and one branch.
//!
//! *In an application* that wants to know: create a [`Buffer`] with a callback and a [`Context`], configure the kinds that
//! are of interest, start it.
//!
//! What is in a buffer is delivered when its process exits, and survives in a file when it is killed ([`recover`]).
//!
//! ```
//! use opscope_trace::{Buffer, BufferOptions, Context, Kind, Operations};
//!
//! # fn main() -> Result<(), opscope_trace::TraceError> {
//! let buffer = Buffer::create(BufferOptions::default(), |batch| {
//!     for record in batch.records() {
//!         println!("{:?}", record.header());
//!     }
//! })?;
//! let context = Context::create();
//! context.configure(Kind::Marker, Operations::All, &buffer)?;
//! context.start()?;
//! {
//!     let _range = opscope_trace::range("decode");
//! }
//! context.stop()?;
//! buffer.flush()?;
//! assert_eq!(buffer.statistics().kind(Kind::Marker).delivered, 1);
//! buffer.destroy()?;
//! # Ok(())
//! # }
//! ```

#![deny(unsafe_code)]

mod barrier;
#[allow(unsafe_code)]
mod batch;
mod buffer;
mod bytes;
mod callback_thread;
#[allow(unsafe_code)]
mod chunk;
mod context;
mod error;
mod file;
mod header;
mod kind;
#[allow(unsafe_code)]
mod ledger;
#[allow(unsafe_code)]
mod life;
#[allow(unsafe_code)]
mod local;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod models;
mod name;
mod range;
pub mod records;
#[cfg(not(loom))]
#[allow(unsafe_code)]
mod reservation;
mod sync;
mod thread;
mod thread_hooks;
mod waits;
#[allow(unsafe_code)]
mod writer;

pub use batch::{Batch, RecordRef, Records};
pub use buffer::{Buffer, BufferId, BufferOptions, KindStatistics, Policy, Statistics};
pub use bytes::Bytes;
pub use callback_thread::CallbackThread;
pub use context::{Context, ContextId, emit, wanted};
pub use error::TraceError;
pub use file::{Damage, RecoverError, Recovered, Recovery, recover, recover_bytes};
pub use header::{Category, Header};
pub use kind::{Kind, Operation, Operations};
pub use life::shutdown;
pub use name::{NameId, all_names, intern, name_text};
pub use range::{Range, counter, mark, mark_named, range, range_named};
pub use records::{
    AllocationRecord, CopyRecord, Correlation, CorrelationId, CounterRecord, DispatchRecord, EngineCallRecord,
    ExternalId, KernelIndex, MarkerRecord, MemoryId, ModelId, Record, RetirementRecord, RunId, RunRecord, ThreadId,
};
#[cfg(not(loom))]
pub use reservation::Reservation;
pub use thread::{
    CorrelationGuard, correlate, current_correlation, current_thread, new_correlation, pop_external, push_external,
};
pub use thread_hooks::on_callback_thread_creation;
