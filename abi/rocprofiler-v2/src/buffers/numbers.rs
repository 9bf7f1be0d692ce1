use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// The id of the next record, across all kinds and buffers. No record has the id 0, because the vendor's plugins skip
/// such a record.
static NEXT_RECORD: AtomicU64 = AtomicU64::new(1);

/// Returns the id for a new record.
pub fn next_record() -> u64 {
    NEXT_RECORD.fetch_add(1, Ordering::Relaxed)
}

/// How many numbers a thread takes at once, so that threads do not share a counter at each dispatch.
const BLOCK: u64 = 256;
static NEXT_BLOCK: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The next number of the thread's block, and the end of that block.
    static NUMBERS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Returns a new number for a dispatch or a copy. It is above 0, and was not used before.
pub fn next_number() -> u64 {
    let (mut next, mut end) = NUMBERS.get();
    if next == end {
        next = NEXT_BLOCK.fetch_add(BLOCK, Ordering::Relaxed);
        end = next + BLOCK;
    }
    NUMBERS.set((next + 1, end));
    next
}
