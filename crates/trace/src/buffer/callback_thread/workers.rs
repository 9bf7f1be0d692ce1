//! All callback threads of the process.

use std::sync::{Arc, Weak};

use super::worker::Worker;
use crate::sync::{Mutex, MutexGuard};

static WORKERS: Mutex<Vec<Weak<Worker>>> = Mutex::new(Vec::new());

pub(super) fn add(worker: &Arc<Worker>) {
    let mut workers = lock();
    workers.retain(|worker| worker.strong_count() > 0);
    workers.push(Arc::downgrade(worker));
}

/// The locked list of callback threads.
pub(in crate::buffer) type Lock = MutexGuard<'static, Vec<Weak<Worker>>>;

pub(in crate::buffer) fn lock() -> Lock {
    WORKERS.lock()
}
