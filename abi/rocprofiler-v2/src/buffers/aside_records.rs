//! Records that a callback emitted while its buffer was full. Waiting would not help, because only the callback's
//! return frees space. These records are delivered after the next batch, which contains the earlier records of the
//! callback's thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::{BufferId, Mutex, MutexGuard, TraceError};

/// A record in its stored form.
pub(super) struct AsideRecord {
    number: u64,
    pub form: u16,
    pub words: Vec<u64>,
}

/// The records that were set aside, by buffer.
static KEPT: Mutex<BTreeMap<BufferId, Vec<AsideRecord>>> = Mutex::new(BTreeMap::new());

pub(super) fn lock() -> MutexGuard<'static, BTreeMap<BufferId, Vec<AsideRecord>>> {
    KEPT.lock()
}

/// Sets the bytes of a record aside, and requests a delivery with `request`. If that fails, removes the record again.
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
    lock().entry(buffer).or_default().push(AsideRecord { number, form, words });
    // The delivery is requested after that, so that it finds the record. The lock is not held meanwhile, because a fork
    // takes this lock while it holds the buffer's own.
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

/// Returns whether records of a buffer were set aside.
pub fn has_some(buffer: BufferId) -> bool {
    lock().contains_key(&buffer)
}

/// Takes the records of a buffer.
pub fn take(buffer: BufferId) -> Vec<AsideRecord> {
    lock().remove(&buffer).unwrap_or_default()
}
