//! All buffers of the process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::SharedBuffer;
use crate::record::BufferId;

static BUFFERS: Mutex<Vec<Weak<SharedBuffer>>> = Mutex::new(Vec::new());

/// Destroys every buffer, and waits at most this long until everything is delivered. Returns the buffers that were not done
/// then. Their callbacks continue.
pub(crate) fn destroy_all(timeout: Duration) -> Vec<BufferId> {
    // A timeout that is too long for the clock means no deadline.
    let deadline = Instant::now().checked_add(timeout);
    let buffers = lock().iter().filter_map(Weak::upgrade).collect::<Vec<_>>();
    // All of them begin to deliver before the first one is waited for. A buffer that was destroyed before may still be
    // delivering.
    buffers.iter().for_each(|buffer| drop(buffer.begin_destroy()));
    buffers.iter().filter(|buffer| !buffer.await_end(deadline)).map(|buffer| buffer.id()).collect()
}

pub(super) fn add(buffer: &Arc<SharedBuffer>) {
    let mut buffers = lock();
    buffers.retain(|buffer| buffer.strong_count() > 0);
    buffers.push(Arc::downgrade(buffer));
}

/// The locked list of buffers.
pub(super) type Lock = MutexGuard<'static, Vec<Weak<SharedBuffer>>>;

pub(super) fn lock() -> Lock {
    // No code panics in the middle of a change.
    BUFFERS.lock().unwrap_or_else(PoisonError::into_inner)
}
