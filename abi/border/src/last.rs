use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A reference to something that is never freed. It can change while threads read it, and needs no lock, so that a
/// signal handler can also read it.
pub struct Last<T: 'static>(AtomicPtr<T>);

// SAFETY: it contains a reference, which any thread may read and store.
unsafe impl<T: Sync> Sync for Last<T> {}

impl<T: Sync> Last<T> {
    /// Returns a value that contains no reference yet.
    pub const fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the reference that was set last.
    #[inline(always)]
    pub fn get(&self) -> Option<&'static T> {
        // SAFETY: it is null, or a reference that `set` stored.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// Sets or removes the reference.
    pub fn set(&self, to: Option<&'static T>) {
        self.0.store(to.map_or(ptr::null_mut(), |to| ptr::from_ref(to).cast_mut()), Ordering::Release);
    }
}

impl<T: Sync> Default for Last<T> {
    fn default() -> Self {
        Self::new()
    }
}
