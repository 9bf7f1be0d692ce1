use super::{Header, Kind, Record};

/// One record, borrowed from where it lies in memory.
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

    /// Returns the record as its struct, or `None` if it is of another kind or length.
    #[inline]
    pub fn get<R: Record>(&self) -> Option<&'a R> {
        if self.kind() == Some(R::KIND) { R::ref_from_bytes(self.payload).ok() } else { None }
    }
}
