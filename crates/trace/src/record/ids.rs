use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The number of a plan (a model made ready for given input shapes). A recording counts its plans from 0. In records
/// that are emitted into contexts, plans are numbered process-wide, from 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct PlanId(pub u64);

/// A thread's number in the operating system (`gettid`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct ThreadId(pub u32);

/// The number that records of the same work share. opscope assigns it; it is unique within the process. 0 is none.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct CorrelationId(pub u64);

/// A number that the user's code assigns to its work. Its meaning is up to that code. 0 is none.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct ExternalId(pub u64);

/// The work that a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Correlation {
    /// opscope's number.
    pub internal: CorrelationId,
    /// The user's number.
    pub external: ExternalId,
}

/// The position of a kernel in its plan.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct KernelIndex(pub u32);

/// The number of a memory: 0 is the host's, every other number is that of a device.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, FromBytes, IntoBytes, Immutable, KnownLayout,
)]
#[repr(transparent)]
pub struct MemoryId(pub u32);

/// A buffer's number within the process. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(pub(crate) u64);

/// A context's number within the process. Numbers are never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub(crate) u64);

impl fmt::Display for BufferId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "buffer {}", self.0)
    }
}

impl BufferId {
    /// Creates the id from a number that [`as_raw`](Self::as_raw) returned.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the number.
    pub const fn as_raw(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "context {}", self.0)
    }
}

impl ContextId {
    /// Returns the number.
    pub const fn as_raw(self) -> u64 {
        self.0
    }
}
