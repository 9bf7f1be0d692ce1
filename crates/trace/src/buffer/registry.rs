//! All buffers and callback threads of the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::SharedBuffer;
use super::delivery::Worker;
use crate::record::BufferId;

#[derive(Default)]
pub(super) struct Registry {
    buffers: Vec<Weak<SharedBuffer>>,
    workers: Vec<Weak<Worker>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { buffers: Vec::new(), workers: Vec::new() });

/// Destroys every buffer, and waits at most this long until everything is delivered. Returns the buffers that were not done
/// then. Their callbacks continue.
pub(crate) fn destroy_all(timeout: Duration) -> Vec<BufferId> {
    // A time too long to be added to the clock is forever.
    let deadline = Instant::now().checked_add(timeout);
    let buffers = lock().buffers();
    // All of them begin before the first one is waited for. One that was destroyed before may still be delivering.
    buffers.iter().for_each(|buffer| drop(buffer.begin_destroy()));
    buffers.iter().filter(|buffer| !buffer.await_end(deadline)).map(|buffer| buffer.id()).collect()
}

pub(super) fn add_buffer(buffer: &Arc<SharedBuffer>) {
    let mut registry = lock();
    registry.buffers.retain(|buffer| buffer.strong_count() > 0);
    registry.buffers.push(Arc::downgrade(buffer));
}

pub(super) fn add_worker(worker: &Arc<Worker>) {
    let mut registry = lock();
    registry.workers.retain(|worker| worker.strong_count() > 0);
    registry.workers.push(Arc::downgrade(worker));
}

pub(super) fn lock() -> MutexGuard<'static, Registry> {
    // No code panics in the middle of a change.
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    pub(super) fn buffers(&self) -> Vec<Arc<SharedBuffer>> {
        self.buffers.iter().filter_map(Weak::upgrade).collect()
    }

    pub(super) fn workers(&self) -> Vec<Arc<Worker>> {
        self.workers.iter().filter_map(Weak::upgrade).collect()
    }
}
