//! The rows that are sorted on the way from events to records.

use std::cmp::Reverse;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::sorter::Row;
use crate::trace::event::What;

/// An event of a thread, or the work of a device, as it came.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct EventRow {
    pub track: u32,
    pub name: u32,
    pub inputs: u32,
    pub what: u32,
    pub op: u32,
    pub reserved: u32,
    pub start: u64,
    pub end: u64,
    pub correlation: u64,
    pub external: u64,
}

/// The same for a device, by what ties it to its launch.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(super) struct DeviceRow(pub EventRow);

/// Where a call, or an operator, was made: by the id that the work on a device has, too.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct Origin {
    pub id: u64,
    pub at: u64,
    pub scope: u32,
    /// The number of the run, or [`OUTSIDE`].
    pub run: u32,
}

/// A record to be.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct RecordRow {
    /// The number of the run, or [`OUTSIDE`].
    pub run: u32,
    /// A [`RecordOf`].
    pub of: u32,
    pub track: u32,
    /// The number of a kernel, or of a marker's name.
    pub name: u32,
    pub start: u64,
    pub end: u64,
    pub correlation: u64,
    pub external: u64,
    /// The scope of a dispatch on the host, which its path is made of; how many ranges are open around a marker.
    pub around: u32,
    pub reserved: u32,
}

/// A value of a counter.
#[derive(Debug, Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(super) struct SampleRow {
    pub at: u64,
    pub value: f64,
    pub counter: u64,
}

/// The number of no run.
pub(super) const OUTSIDE: u32 = u32::MAX;

/// What a record is made of.
pub(super) mod record_of {
    pub const HOST_DISPATCH: u32 = 0;
    pub const DEVICE_DISPATCH: u32 = 1;
    pub const RANGE: u32 = 2;
    pub const MARK: u32 = 3;
}

impl EventRow {
    /// Returns how far out an event stands among those with the same beginning and end.
    fn depth(&self) -> u32 {
        const INNERMOST: [u32; 2] = [What::Operator as u32, What::Call as u32];
        INNERMOST.iter().position(|what| *what == self.what).map_or(0, |place| place as u32 + 1)
    }
}

impl Row for EventRow {
    type Key = (u32, u64, Reverse<u64>, u32);

    fn key(&self) -> Self::Key {
        (self.track, self.start, Reverse(self.end), self.depth())
    }
}

impl Row for DeviceRow {
    type Key = (u64, u64);

    fn key(&self) -> Self::Key {
        (self.0.correlation, self.0.start)
    }
}

impl Row for Origin {
    type Key = (u64, u64);

    fn key(&self) -> Self::Key {
        (self.id, self.at)
    }
}

impl Row for RecordRow {
    type Key = (u32, u64, Reverse<u64>);

    fn key(&self) -> Self::Key {
        (self.run, self.start, Reverse(self.end))
    }
}

impl Row for SampleRow {
    type Key = u64;

    fn key(&self) -> u64 {
        self.at
    }
}
