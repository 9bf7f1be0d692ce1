//! Messages that are too long for a buffer. Their records contain numbers instead of pointers, so that a damaged record
//! leads nowhere.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_trace::{Mutex, MutexGuard};

/// The smallest number of a message.
pub const FIRST: u64 = 2;

static MESSAGES: Mutex<BTreeMap<u64, CString>> = Mutex::new(BTreeMap::new());

pub(super) fn lock() -> MutexGuard<'static, BTreeMap<u64, CString>> {
    MESSAGES.lock()
}

/// Keeps a message until its record is delivered. Returns its number.
pub fn keep(message: &CStr) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(FIRST);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    lock().insert(number, message.to_owned());
    number
}

/// Takes the message with this number, if there is one.
pub fn take(number: u64) -> Option<CString> {
    lock().remove(&number)
}
