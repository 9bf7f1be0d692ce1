//! The records: headers, names, and the kinds in one table, each with a plain struct. All integers are little-endian.
//!
//! This module knows nothing about buffers. Every other module of the crate uses its types.

mod header;
mod ids;
mod kind;
pub(crate) mod name;
mod table;
pub(crate) mod thread;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use header::{Category, Header, RecordRef};
pub use ids::{
    BufferId, Bytes, ContextId, Correlation, CorrelationId, ExternalId, KernelIndex, MemoryId, PathLevel, PlanId,
    ThreadId,
};
pub use name::{NameId, intern, name_text};
pub use thread::{current_correlation, current_thread, pop_external, push_external};
// This exports the record and the operations of every kind, so that a new kind needs no line here.
pub use kind::*;

/// A record of fixed layout that a context can trace.
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout {
    /// The kind of all records of this type.
    const KIND: Kind;

    /// The bytes of each of the equal parts that may follow the record in its payload, or 0 if none may.
    const TAIL: usize = 0;

    /// Returns the operation of this record: one of its kind's [`Kind::operations`].
    fn operation(&self) -> Operation;

    /// Returns the thread whose name a reader of the record needs, if there is one.
    fn thread(&self) -> Option<ThreadId>;

    /// Returns the name that the record refers to, if there is one.
    fn text(&self) -> Option<NameId>;
}
