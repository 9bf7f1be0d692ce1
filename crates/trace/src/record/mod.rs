//! What is recorded: kinds, headers, names, and one plain struct per kind. All integers are little-endian.
//!
//! This room knows nothing of buffers. Every other room of the crate uses its types.

mod allocation;
mod bytes;
mod copy;
mod counter;
mod dispatch;
mod engine_call;
mod header;
mod ids;
mod kind;
mod marker;
pub(crate) mod name;
mod record_ref;
mod retirement;
mod run;
pub(crate) mod thread;

pub use allocation::{AllocationOperation, AllocationRecord};
pub use bytes::Bytes;
pub use copy::{CopyOperation, CopyRecord};
pub use counter::CounterRecord;
pub use dispatch::{DispatchRecord, PathLevel};
pub use engine_call::{EngineCallOperation, EngineCallRecord};
pub use header::{Category, Header};
pub use ids::{BufferId, ContextId, Correlation, CorrelationId, ExternalId, KernelIndex, MemoryId, PlanId, ThreadId};
pub use kind::{Kind, Operation, Operations};
pub use marker::{MarkerOperation, MarkerRecord};
pub use name::{NameId, intern, name_text};
pub use record_ref::RecordRef;
pub use retirement::RetirementRecord;
pub use run::RunRecord;
pub use thread::{current_correlation, current_thread, pop_external, push_external};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A record of fixed layout that a context can trace.
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The kind of all records of this type.
    const KIND: Kind;

    /// The bytes of each of the equal parts that may follow the record in its payload, or 0 if none may.
    const TAIL: usize = 0;

    /// Returns the operation of this record: one of its kind's [`Kind::operations`].
    fn operation(&self) -> Operation;
}
