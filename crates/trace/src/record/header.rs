//! The description of a record, and a record that is borrowed from its buffer or file.

use zerocopy::FromBytes;

use super::{DispatchRecord, Kind, PathLevel, Record};

/// The description of a record, which precedes its payload. A reader that does not know the kind skips the record by
/// its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The category that the kind's number belongs to.
    pub category: Category,
    /// The number of the kind within the category.
    pub kind: u16,
    /// The number of payload bytes. In the buffer the next record starts at the next multiple of 8.
    pub length: u16,
}

/// A set of kinds. opscope's own kinds are [`Category::TRACING`]. A tool that emits records of its own uses another
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Category(pub u8);

impl Category {
    /// The category of every [`Kind`].
    pub const TRACING: Self = Self(1);
}

impl Header {
    /// Returns the kind if the record is one of opscope's own.
    pub fn tracing_kind(&self) -> Option<Kind> {
        if self.category == Category::TRACING { Kind::from_raw(self.kind) } else { None }
    }
}

/// One record, borrowed from the buffer or file that holds it.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> RecordRef<'a> {
    pub(crate) fn new(header: Header, payload: &'a [u8]) -> Self {
        Self { header, payload }
    }

    /// Returns the record's category, kind and length.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Returns the kind if the record is one of opscope's own.
    pub fn kind(&self) -> Option<Kind> {
        self.header.tracing_kind()
    }

    /// Returns the payload. Its address is a multiple of 8.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Returns the record as its struct, or `None` if it is of another kind or length. Bytes that follow the struct in
    /// the payload are not included.
    #[inline]
    pub fn get<R: Record>(&self) -> Option<&'a R> {
        self.split().map(|(record, _)| record)
    }

    /// Returns the path of a dispatch, outermost level first: the iterations of the bodies that it was executed in. It
    /// is empty for an operator of the main graph, and for records of other kinds.
    pub fn path(&self) -> &'a [PathLevel] {
        let tail = self.split::<DispatchRecord>().and_then(|(_, tail)| <[PathLevel]>::ref_from_bytes(tail).ok());
        tail.unwrap_or_default()
    }

    /// Returns the struct, and what follows it in the payload.
    #[inline]
    fn split<R: Record>(&self) -> Option<(&'a R, &'a [u8])> {
        if self.kind() != Some(R::KIND) {
            return None;
        }
        let (record, tail) = R::ref_from_prefix(self.payload).ok()?;
        let is_whole = if R::TAIL == 0 { tail.is_empty() } else { tail.len() % R::TAIL == 0 };
        is_whole.then_some((record, tail))
    }
}
