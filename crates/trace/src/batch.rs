use crate::{BufferId, Category, Header, Kind, Record};

/// What one callback gets: records in the order in which each thread emitted them, where they lie. They are gone when
/// the callback returns.
#[derive(Debug)]
pub struct Batch<'a> {
    pub(crate) buffer: BufferId,
    pub(crate) words: &'a [u64],
    pub(crate) count: u64,
    pub(crate) dropped: u64,
}

/// One record where it lies.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    header: Header,
    payload: &'a [u8],
}

/// Goes through the records of a batch.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    words: &'a [u64],
}

impl<'a> Batch<'a> {
    /// The buffer that delivers.
    pub fn buffer(&self) -> BufferId {
        self.buffer
    }

    /// How many records there are; never 0.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are none. A callback never gets such a batch.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many records the buffer has dropped since it was created.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The records.
    pub fn records(&self) -> Records<'a> {
        Records { words: self.words }
    }
}

impl<'a> RecordRef<'a> {
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
    pub fn get<R: Record>(&self) -> Option<&'a R> {
        if self.kind() == Some(R::KIND) { R::ref_from_bytes(self.payload).ok() } else { None }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&head, rest) = self.words.split_first()?;
        let header = Header { category: Category(head as u8), kind: (head >> 16) as u16, length: (head >> 32) as u16 };
        let (payload, rest) = rest.split_at_checked(usize::from(header.length).div_ceil(8))?;
        self.words = rest;
        let payload = zerocopy::IntoBytes::as_bytes(payload).get(..usize::from(header.length))?;
        Some(RecordRef { header, payload })
    }
}
