use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::fmt::Pointer;
use std::mem::transmute_copy;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function pointer in memory that a program may overwrite at any time: an entry of a table, or a callback of the
/// whole process.
///
/// C guarantees that it stores NULL, or a function of this type that stays loaded until the process ends, and that it
/// stores the whole pointer at once.
#[repr(transparent)]
pub struct Entry<F>(UnsafeCell<Option<F>>);

// SAFETY: after its creation, the cell is only accessed atomically. A program writes whole pointers.
unsafe impl<F: Sync + Send> Sync for Entry<F> {}

/// The bound means that `F` is a function pointer: no other type that is `Copy` and `fmt::Pointer` has the size of a
/// pointer together with its `Option`.
impl<F: Copy + Pointer> Entry<F> {
    /// Makes an entry with a function.
    pub const fn new(function: Option<F>) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>() && size_of::<Option<F>>() == size_of::<F>()) };
        Self(UnsafeCell::new(function))
    }

    /// Returns the current function.
    #[inline]
    pub fn load(&self) -> Option<F> {
        let pointer = self.atomic().load(Ordering::Acquire);
        // SAFETY: both have the same size. The pointer is null, which is `None`, or a function of this type.
        unsafe { transmute_copy::<*mut c_void, Option<F>>(&pointer) }
    }

    /// Stores a function.
    #[inline]
    pub fn store(&self, function: Option<F>) {
        // SAFETY: both have the same size, and no byte of a pointer is padding.
        let pointer = unsafe { transmute_copy::<Option<F>, *mut c_void>(&function) };
        self.atomic().store(pointer, Ordering::Release);
    }

    #[inline]
    fn atomic(&self) -> &AtomicPtr<c_void> {
        // SAFETY: the cell has the size and alignment of a pointer, and lives as long as this. All accesses are atomic.
        unsafe { AtomicPtr::from_ptr(self.0.get().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn double(number: u32) -> u32 {
        number * 2
    }

    #[test]
    fn an_entry_has_the_function_that_was_stored_last() {
        static ENTRY: Entry<extern "C" fn(u32) -> u32> = Entry::new(None);
        assert!(ENTRY.load().is_none());
        ENTRY.store(Some(double));
        assert_eq!(ENTRY.load().map(|function| function(21)), Some(42));
        ENTRY.store(None);
        assert!(ENTRY.load().is_none());
    }
}
