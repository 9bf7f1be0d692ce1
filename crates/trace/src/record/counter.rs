use opscope_clock::Ticks;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{Correlation, Kind, NameId, Operation, Record, ThreadId};

/// The value of a counter at a moment: 48 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CounterRecord {
    /// When the counter was read.
    pub time: Ticks,
    /// The value. Its unit is part of the counter's name.
    pub value: f64,
    /// The work that it belongs to.
    pub correlation: Correlation,
    /// The counter's name; [`name_text`](crate::name_text) returns its text.
    pub name: NameId,
    /// Always 0: `sample`.
    pub operation: u32,
    /// The thread that read the counter.
    pub thread: ThreadId,
    /// Always 0.
    pub reserved: u32,
}

const _: () = assert!(size_of::<CounterRecord>() == 48);

impl Record for CounterRecord {
    const KIND: Kind = Kind::Counter;

    fn operation(&self) -> Operation {
        Operation(self.operation)
    }
}
