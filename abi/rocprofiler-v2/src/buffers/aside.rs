//! Records that callbacks put into a full buffer where only their return could have made room. They are delivered behind the next
//! batch, which has what the callback's thread put into the buffer before them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::{BufferId, Mutex, MutexGuard, TraceError};

/// A record, by its form.
pub(super) struct Kept {
    number: u64,
    pub form: u16,
    pub words: Vec<u64>,
}

/// The records of all buffers that have some.
static KEPT: Mutex<BTreeMap<BufferId, Vec<Kept>>> = Mutex::new(BTreeMap::new());

pub(super) fn lock() -> MutexGuard<'static, BTreeMap<BufferId, Vec<Kept>>> {
    KEPT.lock()
}

/// Keeps the bytes of a record, if `request` can request the delivery that is to take it.
pub fn keep(
    buffer: BufferId,
    form: u16,
    bytes: &[u8],
    request: impl FnOnce() -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    let words = bytes.chunks_exact(8).map(word).collect();
    lock().entry(buffer).or_default().push(Kept { number, form, words });
    // Afterwards, so that the delivery finds it. Without the lock: a fork holds the buffer's own lock when it takes this one.
    request().inspect_err(|_| {
        let mut kept = lock();
        if let Some(records) = kept.get_mut(&buffer) {
            records.retain(|record| record.number != number);
            if records.is_empty() {
                kept.remove(&buffer);
            }
        }
    })
}

/// Returns whether there are records of a buffer.
pub fn has_some(buffer: BufferId) -> bool {
    lock().contains_key(&buffer)
}

/// Takes the records of a buffer.
pub fn take(buffer: BufferId) -> Vec<Kept> {
    lock().remove(&buffer).unwrap_or_default()
}
