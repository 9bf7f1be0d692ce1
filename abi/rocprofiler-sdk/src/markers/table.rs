//! The tables of a ROCTx runtime: each begins with its size, and consists of pointers to functions.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How many functions the largest table has.
pub const MOST_FUNCTIONS: usize = 6;

/// Functions by their place in a table.
pub type Functions = [AtomicPtr<c_void>; MOST_FUNCTIONS];

/// Returns a list without functions.
pub const fn no_functions() -> Functions {
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_FUNCTIONS]
}

/// A live table in the memory of a runtime.
#[derive(Clone, Copy)]
pub struct LiveTable {
    table: *mut u64,
    functions: usize,
}

impl LiveTable {
    /// Takes a table that a runtime registers, and reads its size.
    ///
    /// # Safety
    /// It is a table of a runtime, which lives as long as the process, or NULL.
    pub unsafe fn new(table: *mut c_void) -> Option<Self> {
        let table = table.cast::<u64>();
        if table.is_null() || !table.is_aligned() {
            return None;
        }
        // SAFETY: it is not NULL, and a table begins with its size.
        let size = unsafe { table.read() } as usize;
        Some(Self { table, functions: (size / 8).saturating_sub(1).min(MOST_FUNCTIONS) })
    }

    /// Returns the place of a function, or `None` if the runtime's table is older and ends before.
    pub fn function(&self, index: usize) -> Option<&'static AtomicPtr<c_void>> {
        if index >= self.functions {
            return None;
        }
        // SAFETY: the place lies within the table's size, and the table lives as long as the process. The runtime reads it while
        // it is changed, as it expects.
        Some(unsafe { AtomicPtr::from_ptr(self.table.add(1 + index).cast()) })
    }

    /// Returns the table as the runtime handed it over.
    pub fn as_ptr(&self) -> *mut c_void {
        self.table.cast()
    }
}

/// Keeps a function in a place that has none yet.
pub fn keep_first(place: &AtomicPtr<c_void>, function: *mut c_void) {
    let _ = place.compare_exchange(std::ptr::null_mut(), function, Ordering::AcqRel, Ordering::Acquire);
}
