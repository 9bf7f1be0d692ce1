//! A fork in a callback that returns in the child, too. It is alone in its process, so that the child has no other
//! thread's locks.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use opscope_trace::{Buffer, BufferOptions, Bytes, Category};

/// Owned by the callback. When it is dropped, it looks at the buffer: in the child it ends the process, and in the
/// parent it notes the number of callbacks.
struct Owned {
    buffer: Arc<OnceLock<Buffer>>,
    parent: u32,
    callbacks: Arc<AtomicU64>,
}

impl Drop for Owned {
    fn drop(&mut self) {
        let statistics = self.buffer.get().expect("it was set before the first record").statistics();
        if std::process::id() == self.parent {
            self.callbacks.store(statistics.callbacks, Ordering::SeqCst);
            return;
        }
        let is_untouched = statistics.callbacks == 0 && statistics.bytes == Bytes::new(0);
        // SAFETY: this copy of the process is no longer needed.
        unsafe { libc::_exit(if is_untouched { 0 } else { 1 }) }
    }
}

#[test]
fn in_the_child_the_callback_is_dropped_without_the_lock_and_its_batch_is_not_counted() {
    let (buffer, callbacks) = (Arc::new(OnceLock::new()), Arc::new(AtomicU64::new(0)));
    let status = Arc::new(AtomicI32::new(-1));
    let owned = Owned { buffer: Arc::clone(&buffer), parent: std::process::id(), callbacks: Arc::clone(&callbacks) };
    let found = Arc::clone(&status);
    let created = Buffer::create(BufferOptions::default(), move |_| {
        let _owned = &owned;
        // SAFETY: the child uses only this library and the allocator, which support that.
        match unsafe { libc::fork() } {
            // SAFETY: it has no memory of ours. A child that waits for its own lock is ended by it.
            0 => _ = unsafe { libc::alarm(60) },
            child => {
                let mut status = 0;
                // SAFETY: `child` is this process's child, and `status` is a place for an int.
                unsafe { libc::waitpid(child, &mut status, 0) };
                found.store(status, Ordering::SeqCst);
            }
        }
    });
    let created = created.expect("the options are valid");
    assert!(buffer.set(created.clone()).is_ok());
    created.emit_bytes(Category(9), 1, &[7; 8]).expect("there is room");
    created.destroy().expect("it is not destroyed");
    assert_eq!(status.load(Ordering::SeqCst), 0, "the child ends by itself, and its buffer has no callback");
    // The callback is dropped at the end of the buffer, which `destroy` waits for; it may be dropped a moment later.
    drop(created);
    while Arc::strong_count(&callbacks) > 1 {
        std::thread::yield_now();
    }
    assert_eq!(callbacks.load(Ordering::SeqCst), 1);
}
