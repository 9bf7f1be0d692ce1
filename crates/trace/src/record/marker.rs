use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Record, ThreadId};
use crate::{Kind, NameId, Operation};

/// A moment or a range that the user named: 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct MarkerRecord {
    /// When the range began, or the moment.
    pub start: Ticks,
    /// When the range ended; the same moment for a mark.
    pub end: Ticks,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The text, as [`crate::name_text`] gives it back.
    pub name: NameId,
    /// A [`MarkerOperation`].
    pub operation: u32,
    /// The thread that the user's code ran on.
    pub thread: ThreadId,
    /// How many ranges of the same thread were open around it.
    pub depth: u32,
}

const _: () = assert!(size_of::<MarkerRecord>() == 48);

/// What a marker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[repr(u32)]
pub enum MarkerOperation {
    Mark = 0,
    Range = 1,
}

impl Record for MarkerRecord {
    const KIND: Kind = Kind::Marker;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
