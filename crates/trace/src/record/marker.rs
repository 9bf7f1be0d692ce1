use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, NameId, Operation, Record, ThreadId};

/// A moment or a range that the user's code named: 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MarkerRecord {
    /// When the range began; for a mark, its moment.
    pub start: Ticks,
    /// When the range ended; for a mark, its moment.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The name; [`name_text`](crate::name_text) returns its text.
    pub name: NameId,
    /// What was marked: a [`MarkerOperation`].
    pub operation: u32,
    /// The thread that the user's code ran on.
    pub thread: ThreadId,
    /// The number of open ranges of the same thread around this one.
    pub depth: u32,
}

const _: () = assert!(size_of::<MarkerRecord>() == 48);

/// What a marker marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum MarkerOperation {
    /// A moment.
    Mark = 0,
    /// A range.
    Range = 1,
    /// A range that was open when tracing ended: `end` is when tracing ended.
    OpenRange = 2,
}

impl Record for MarkerRecord {
    const KIND: Kind = Kind::Marker;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
