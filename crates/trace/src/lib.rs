//! Records, and the buffers that they wait in.
//!
//! *In a library* that records what it does: check [`wanted`], and [`emit`] a record. If no context is started for its
//! kind, this costs one relaxed load and one branch.
//!
//! *In an application* that reads the records: create a [`Buffer`] with a callback and a [`Context`], configure the
//! kinds that it is to trace, and start it.
//!
//! Records in a buffer are delivered when the process exits. In a buffer with a file they survive if the process is
//! killed: [`recover`] reads them back.
//!
//! # Rooms
//!
//! Each file or folder is a room, and imports only from rooms below it:
//!
//! | room | what |
//! |---|---|
//! | `context` | which kinds are traced into which buffers, and emitting through them; correlation ids and markers |
//! | `buffer` | the public handle, emitting, delivery, callback threads; in `state`, where the records are |
//! | `process` | when the process forks and exits |
//! | `file` | a buffer's memory in a file, and recovery |
//! | `chunk` | a buffer's memory, and how records lie in it |
//! | `error` | what can be wrong |
//! | `record` | headers, kinds, names, and one struct per kind of record |
//! | `sync` | atomics and the memory barrier, real or loom's; locks, and what a thread is inside of |
//!
//! # Example
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
    Batch, Buffer, BufferOptions, CallbackThread, KindStatistics, Records, Statistics, drop_if_interrupting,
    emit_by_id, interrupts_a_call, on_callback_thread_creation,
};
pub use chunk::Policy;
pub use context::{
    Context, CorrelationGuard, OpenRanges, Range, correlate, counter, emit, emit_with_path, mark, mark_named,
    open_ranges, range, range_named, register_process_events, shutdown, try_counter, try_mark_named, wanted,
};
pub use error::TraceError;
pub use file::{Damage, RecoverError, Recovered, Recovery, recover, recover_bytes};
pub use process::{ForkRoom, HeldLocks, LockRoom};
pub use record::*;
pub use sync::{Inside, Mutex, MutexGuard};
