//! The numbers that records contain: ids, bytes, and iterations of bodies.

use std::fmt;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::DispatchRecord;

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

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Makes a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Makes a number of bytes from a number of KiB (1024 bytes).
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// Makes a number of bytes from a number of MiB (1024 KiB).
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.0 += bytes as u64;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}

/// An iteration of the body of an operator (`If`, `Loop` or `Scan`) that a kernel was executed in: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PathLevel {
    /// The operator, by its position in the model's graph.
    pub operator: u32,
    /// The iteration, from 0. Always 0 for `If`.
    pub iteration: u32,
}

const _: () = assert!(size_of::<PathLevel>() == 8);

/// Payloads up to this length, with eight levels, are built on the stack.
const SHORT: usize = 128;

impl DispatchRecord {
    /// Calls `act` with the payload of this record, followed by a path.
    pub(crate) fn with_payload<T>(
        &self,
        path: impl ExactSizeIterator<Item = PathLevel>,
        act: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let length = size_of::<Self>() + path.len() * size_of::<PathLevel>();
        let (mut short, mut long) = ([0; SHORT], Vec::new());
        let payload = match short.get_mut(..length) {
            Some(payload) => payload,
            None => {
                long.resize(length, 0);
                &mut long[..]
            }
        };
        let (record, levels) = payload.split_at_mut(size_of::<Self>());
        record.copy_from_slice(self.as_bytes());
        for (place, level) in levels.chunks_exact_mut(size_of::<PathLevel>()).zip(path) {
            place.copy_from_slice(level.as_bytes());
        }
        act(payload)
    }
}
