use std::sync::atomic::{AtomicBool, AtomicU64};

use opscope_producer::ProducerTable;
use opscope_sys::{Mutex, MutexGuard};

/// A producer that attached itself. It lives as long as the process.
pub struct Producer {
    /// Its number, from 0: the instance of its runtime.
    pub number: u64,
    pub(super) table: ProducerTable<Self>,
    /// The version of its runtime; 0 until that is known.
    pub(super) version: AtomicU64,
    pub(super) is_connected: AtomicBool,
}

static PRODUCERS: Mutex<Vec<&'static Producer>> = Mutex::new(Vec::new());

pub(super) fn lock() -> MutexGuard<'static, Vec<&'static Producer>> {
    PRODUCERS.lock()
}
