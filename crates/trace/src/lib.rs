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

mod buffer;
#[allow(unsafe_code)]
mod chunk;
mod context;
mod error;
mod file;
#[cfg(all(test, loom))]
#[allow(unsafe_code)]
mod loom_tests;
#[allow(unsafe_code)]
mod process;
mod record;
mod sync;

#[cfg(not(loom))]
pub use buffer::Reservation;
pub use buffer::{
    Batch, Buffer, BufferOptions, CallbackThread, KindStatistics, Records, Statistics, on_callback_thread_creation,
};
pub use chunk::Policy;
pub use context::{Context, Range, counter, emit, mark, mark_named, range, range_named, shutdown, wanted};
pub use error::TraceError;
pub use file::{Damage, RecoverError, Recovered, Recovery, recover, recover_bytes};
pub use record::{
    AllocationOperation, AllocationRecord, BufferId, Bytes, Category, ContextId, CopyOperation, CopyRecord,
    Correlation, CorrelationGuard, CorrelationId, CounterRecord, DispatchRecord, EngineCallOperation, EngineCallRecord,
    ExternalId, Header, KernelIndex, Kind, MarkerOperation, MarkerRecord, MemoryId, NameId, Operation, Operations,
    PlanId, Record, RecordRef, RetirementRecord, RunId, RunRecord, ThreadId, all_names, correlate, current_correlation,
    current_thread, intern, name_text, new_correlation, pop_external, push_external,
};
