use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::border::Status;
use crate::kinds::size_of_kind;
use crate::layout::RecordHeader;

/// What a buffer's callback is being called with.
#[derive(Default)]
pub struct Current(Mutex<Batch>);

/// Where records lie, and what they are.
#[derive(Default)]
struct Batch {
    begin: usize,
    end: usize,
    /// The offset of each record, and its kind.
    records: Vec<(usize, c_int)>,
}

impl Current {
    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a callback: its memory, and the records in it. `records` is taken over.
    pub fn begin(&self, begin: usize, end: usize, records: &mut Vec<(usize, c_int)>) {
        let mut batch = self.lock();
        (batch.begin, batch.end) = (begin, end);
        std::mem::swap(&mut batch.records, records);
    }

    /// Ends the callback. Returns whether the records still have their kinds: the tool did not overwrite them.
    ///
    /// # Safety
    /// The memory that the callback began with is readable.
    pub unsafe fn end(&self, records: &mut Vec<(usize, c_int)>) -> bool {
        let mut batch = self.lock();
        let begin = batch.begin;
        std::mem::swap(&mut batch.records, records);
        (batch.begin, batch.end) = (0, 0);
        batch.records.clear();
        // SAFETY: every record begins with its header, and the caller vouches for the memory.
        records.iter().all(|(offset, kind)| unsafe { (*((begin + offset) as *const RecordHeader)).kind } == *kind)
    }

    /// Returns whether a callback is being called.
    pub fn is_in_callback(&self) -> bool {
        self.lock().end != 0
    }

    /// Returns what follows a record. A record that lies elsewhere, because the tool copied it, is stepped over by its kind.
    ///
    /// # Safety
    /// The record is readable.
    pub unsafe fn next(&self, record: *const RecordHeader) -> Result<*const RecordHeader, Status> {
        // SAFETY: as the caller promises.
        let kind = || unsafe { (*record).kind };
        let batch = self.lock();
        let address = record as usize;
        if !(batch.begin..batch.end).contains(&address) {
            if address == batch.end && batch.end != 0 {
                return Err(Status::RecordCorrupted);
            }
            drop(batch);
            let size = size_of_kind(kind()).ok_or(Status::RecordCorrupted)?;
            return Ok(record.wrapping_byte_add(size));
        }
        let offset = address - batch.begin;
        let found = batch.records.binary_search_by_key(&offset, |(offset, _)| *offset);
        let index = found.map_err(|_| Status::RecordCorrupted)?;
        if kind() != batch.records[index].1 {
            return Err(Status::RecordCorrupted);
        }
        let next = batch.records.get(index + 1).map_or(batch.end, |(offset, _)| batch.begin + offset);
        Ok(next as *const RecordHeader)
    }
}
