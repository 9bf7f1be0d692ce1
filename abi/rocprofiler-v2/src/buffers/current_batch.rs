//! The batches of the callbacks in progress.

use std::ffi::c_int;
use std::mem::offset_of;

use opscope_border::In;
use opscope_sys::{Mutex, MutexGuard};

use crate::border::Status;
use crate::kinds::size_of_kind;
use crate::layout::{Handle, RecordHeader};
use crate::threads;

/// A session and a buffer of it.
pub type SessionBuffer = (Handle, Handle);

/// The batch of a callback in progress: its addresses, and the offsets and kinds of its records.
pub(super) struct Batch {
    of: SessionBuffer,
    thread: usize,
    begin: usize,
    end: usize,
    /// The offset of each record, and its kind.
    records: Vec<(usize, c_int)>,
}

static BATCHES: Mutex<Vec<Batch>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<Batch>> {
    BATCHES.lock()
}

/// Notes that a callback begins on this thread, with the addresses of its batch and its records. Keeps the list of
/// records until [`end`].
pub fn begin(of: SessionBuffer, begin: usize, end: usize, records: &mut Vec<(usize, c_int)>) {
    let records = std::mem::take(records);
    lock().push(Batch { of, thread: threads::identity(), begin, end, records });
}

/// Notes that the callback for `words` has ended. Returns whether all records still have their kinds, which means that
/// the tool has not overwritten them.
pub fn end(of: SessionBuffer, words: &[u64], records: &mut Vec<(usize, c_int)>) -> bool {
    const { assert!(offset_of!(RecordHeader, kind) == 0) };
    let mut batches = lock();
    let Some(index) = batches.iter().position(|batch| batch.of == of) else { return true };
    let batch = batches.swap_remove(index);
    drop(batches);
    *records = batch.records;
    // The kind is the first half of a record's first word in memory.
    let kind_of = |word: &u64| word.to_ne_bytes().first_chunk().copied().map(c_int::from_ne_bytes);
    records.iter().all(|&(offset, kind)| words.get(offset / 8).and_then(kind_of) == Some(kind))
}

/// Returns whether the callback of a buffer is being called.
pub fn is_called(of: SessionBuffer) -> bool {
    lock().iter().any(|batch| batch.of == of)
}

/// Returns the address after a record in any batch in progress. For a record elsewhere, which the tool must have
/// copied, the address follows from the size of its kind.
pub fn next(record: In<'_, RecordHeader>) -> Result<*const RecordHeader, Status> {
    // This is read only once the address is known not to be the end of a batch, which is not readable.
    let kind = || record.given().map(|header| header.kind);
    let address = record.as_ptr().addr();
    let batches = lock();
    let Some(batch) = batches.iter().find(|batch| (batch.begin..=batch.end).contains(&address)) else {
        drop(batches);
        let size = kind().and_then(size_of_kind).ok_or(Status::RecordCorrupted)?;
        return Ok(record.as_ptr().wrapping_byte_add(size));
    };
    // The end of the batch is not a record.
    let offset = address - batch.begin;
    let found = batch.records.binary_search_by_key(&offset, |(offset, _)| *offset);
    let index = found.map_err(|_| Status::RecordCorrupted)?;
    if kind() != Some(batch.records[index].1) {
        return Err(Status::RecordCorrupted);
    }
    let next = batch.records.get(index + 1).map_or(batch.end, |(offset, _)| batch.begin + offset);
    Ok(next as *const RecordHeader)
}

/// Removes the callbacks of the parent's other threads.
pub(super) fn reset_in_child() {
    let this = threads::identity();
    lock().retain(|batch| batch.thread == this);
}
