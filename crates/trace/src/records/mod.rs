//! The records: one module per kind, one plain struct each, all integers little-endian.

mod allocation;
mod copy;
mod counter;
mod dispatch;
mod engine_call;
mod ids;
mod marker;
mod retirement;
mod run;

pub use allocation::{AllocationOperation, AllocationRecord};
pub use copy::{CopyOperation, CopyRecord};
pub use counter::CounterRecord;
pub use dispatch::DispatchRecord;
pub use engine_call::{EngineCallOperation, EngineCallRecord};
pub use ids::{Correlation, CorrelationId, ExternalId, KernelIndex, MemoryId, ModelId, RunId, ThreadId};
pub use marker::{MarkerOperation, MarkerRecord};
pub use retirement::RetirementRecord;
pub use run::RunRecord;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::{Kind, Operation};

/// A record of fixed layout that a context can be asked for.
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The kind that all records of this type have.
    const KIND: Kind;

    /// The operation that this record is about.
    fn operation(&self) -> Operation;
}
