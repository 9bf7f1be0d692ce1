use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A reference to something that is never freed, which changes while threads look at it: without a lock, so that a
/// signal handler can look, too.
pub struct Last<T: 'static>(AtomicPtr<T>);

// SAFETY: it is a reference, which any thread gets, and stores.
unsafe impl<T: Sync> Sync for Last<T> {}

impl<T: Sync> Last<T> {
    /// Refers to nothing.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns what was set last.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: it is null, or a reference that `set` stored.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Refers to something else, or to nothing.
    pub fn set(&self, to: Option<&'static T>) {
        self.0.store(to.map_or(ptr::null_mut(), |to| ptr::from_ref(to).cast_mut()), Ordering::Release);
    }
}

impl<T: Sync> Default for Last<T> {
    fn default() -> Self {
        Self::new()
    }
}
