use super::{Header, Kind, Record};

/// One record where it lies.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    header: Header,
    payload: &'a [u8],
}

impl<'a> RecordRef<'a> {
    pub(crate) fn new(header: Header, payload: &'a [u8]) -> Self {
        Self { header, payload }
    }

    /// What stands before the payload.
    pub fn header(&self) -> Header {
        self.header
    }

    /// The kind, where the record is one of opscope's own.
    pub fn kind(&self) -> Option<Kind> {
        self.header.tracing_kind()
    }

    /// The payload. It starts at an address that is a multiple of 8.
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The record as its struct; none where it is of another kind or length.
    #[inline]
    pub fn get<R: Record>(&self) -> Option<&'a R> {
        if self.kind() == Some(R::KIND) { R::ref_from_bytes(self.payload).ok() } else { None }
    }
}
