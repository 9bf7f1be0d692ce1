//! The records: one module per kind, one plain struct each, all integers little-endian.

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
pub use dispatch::DispatchRecord;
pub use engine_call::{EngineCallOperation, EngineCallRecord};
pub use header::{Category, Header};
pub use ids::{
    BufferId, ContextId, Correlation, CorrelationId, ExternalId, KernelIndex, MemoryId, ModelId, RunId, ThreadId,
};
pub use kind::{Kind, Operation, Operations};
pub use marker::{MarkerOperation, MarkerRecord};
pub use name::{NameId, all_names, intern, name_text};
pub use record_ref::RecordRef;
pub use retirement::RetirementRecord;
pub use run::RunRecord;
pub use thread::{
    CorrelationGuard, correlate, current_correlation, current_thread, new_correlation, pop_external, push_external,
};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A record of fixed layout that a context can be asked for.
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The kind that all records of this type have.
    const KIND: Kind;

    /// The operation that this record is about.
    fn operation(&self) -> Operation;
}
