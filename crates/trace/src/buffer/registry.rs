//! All buffers of the process.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::SharedBuffer;
use crate::record::BufferId;
use crate::sync::{Mutex, MutexGuard};

static BUFFERS: Mutex<Vec<Weak<SharedBuffer>>> = Mutex::new(Vec::new());

/// Destroys every buffer, and waits at most this long until everything is delivered. Returns the buffers that were not
/// done by then. Their callbacks continue.
pub(crate) fn destroy_all(timeout: Duration) -> Vec<BufferId> {
    let buffers = lock().iter().filter_map(Weak::upgrade).collect();
    destroy(buffers, timeout)
}

/// Destroys these buffers, as [`destroy_all`] does all of them.
pub(super) fn destroy(buffers: Vec<Arc<SharedBuffer>>, timeout: Duration) -> Vec<BufferId> {
    // A timeout that is too long for the clock means no deadline.
    let deadline = |buffer: &Arc<SharedBuffer>| buffer.clock().after(timeout);
    let buffers: Vec<_> = buffers.into_iter().map(|buffer| (deadline(&buffer), buffer)).collect();
    // All of them begin to deliver before this waits for the first one. A buffer that was destroyed earlier may still
    // be delivering.
    buffers.iter().for_each(|(_, buffer)| drop(buffer.begin_destroy()));
    buffers.iter().filter(|(deadline, buffer)| !buffer.await_end(*deadline)).map(|(_, buffer)| buffer.id()).collect()
}

/// Returns the buffer with this number, if it still exists.
pub(super) fn find(id: BufferId) -> Option<Arc<SharedBuffer>> {
    // The others are dropped without the lock, because one of them may be the last handle of its buffer.
    let all: Vec<_> = lock().iter().filter_map(Weak::upgrade).collect();
    all.into_iter().find(|buffer| buffer.id() == id)
}

pub(super) fn add(buffer: &Arc<SharedBuffer>) {
    let mut buffers = lock();
    buffers.retain(|buffer| buffer.strong_count() > 0);
    buffers.push(Arc::downgrade(buffer));
}

/// The locked list of buffers.
pub(super) type Lock = MutexGuard<'static, Vec<Weak<SharedBuffer>>>;

pub(super) fn lock() -> Lock {
    BUFFERS.lock()
}
