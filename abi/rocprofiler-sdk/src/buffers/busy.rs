use std::sync::atomic::{AtomicUsize, Ordering};

/// A flush or a callback that is in progress.
pub(super) struct Busy(&'static AtomicUsize);

impl Busy {
    pub fn enter(busy: &'static AtomicUsize) -> Self {
        busy.fetch_add(1, Ordering::SeqCst);
        Self(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
