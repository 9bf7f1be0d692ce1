//! The tables of a ROCTx runtime: each is its size, followed by pointers to functions.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicPtr, Ordering};

use opscope_producer::OfferedTable;

/// How many functions the largest table has.
pub const MOST_FUNCTIONS: usize = 6;

/// Functions by their index in a table.
pub type Functions = [AtomicPtr<c_void>; MOST_FUNCTIONS];

/// Returns an empty list of functions.
pub const fn no_functions() -> Functions {
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_FUNCTIONS]
}

/// The tables that a runtime registers: NULL, or an array of pointers to them. The runtime guarantees that there are as
/// many tables as the count that it passes. Each pointer is NULL, or leads to a table that begins with its size and
/// lives as long as the process.
#[repr(transparent)]
pub struct RuntimeTables<'a>(*mut *mut c_void, PhantomData<&'a mut [*mut c_void]>);

/// The tables of a runtime with their count.
pub struct CountedTables<'a> {
    tables: RuntimeTables<'a>,
    count: u64,
}

impl<'a> RuntimeTables<'a> {
    /// Pairs the tables with their count.
    ///
    /// # Safety
    /// The runtime passed this count with these tables.
    pub unsafe fn counted(self, count: u64) -> CountedTables<'a> {
        CountedTables { tables: self, count }
    }
}

impl<'a> CountedTables<'a> {
    /// Returns the number of tables; 0 if the pointer is NULL.
    pub fn count(&self) -> u64 {
        if self.tables.0.is_null() { 0 } else { self.count }
    }

    /// Returns the first `COUNT` tables as tables of ROCTx.
    pub fn markers<const COUNT: usize>(&self) -> [Option<LiveTable>; COUNT] {
        let table = |index| {
            // SAFETY: the index is below the count.
            let table = (index < self.count() as usize).then(|| unsafe { *self.tables.0.add(index) });
            table.and_then(|table| LiveTable::new(table.cast()))
        };
        std::array::from_fn(table)
    }

    /// Returns the first table as the table of a producer.
    pub fn producer(&self) -> OfferedTable<'a> {
        // SAFETY: a producer registers its table under its own name, and there is at least one.
        unsafe {
            OfferedTable::from_ptr(if self.count() == 0 { std::ptr::null_mut() } else { (*self.tables.0).cast() })
        }
    }
}

/// A table in a runtime's memory, in use by the runtime.
#[derive(Clone, Copy)]
pub struct LiveTable {
    table: *mut u64,
    functions: usize,
}

impl LiveTable {
    /// Takes a table that a runtime registers, and reads its size.
    fn new(table: *mut u64) -> Option<Self> {
        if table.is_null() || !table.is_aligned() {
            return None;
        }
        // SAFETY: it is not NULL, and `RuntimeTables` guarantees that a table begins with its size.
        let size = unsafe { table.read() } as usize;
        Some(Self { table, functions: (size / 8).saturating_sub(1).min(MOST_FUNCTIONS) })
    }

    /// Returns a function's entry, or `None` if the runtime's table is an older one that ends before it.
    pub fn function(&self, index: usize) -> Option<&'static AtomicPtr<c_void>> {
        if index >= self.functions {
            return None;
        }
        // SAFETY: the entry lies within the table's size, and the table lives as long as the process. The runtime
        // expects entries to change while it reads them.
        Some(unsafe { AtomicPtr::from_ptr(self.table.add(1 + index).cast()) })
    }

    /// Returns the table as the runtime passed it.
    pub fn as_ptr(&self) -> *mut c_void {
        self.table.cast()
    }
}

/// Returns the function in an entry, if it has one.
///
/// # Safety
/// The entry holds a function of this type or NULL.
#[inline(always)]
pub unsafe fn original<F: Copy>(place: &AtomicPtr<c_void>) -> Option<F> {
    const { assert!(size_of::<Option<F>>() == size_of::<*mut c_void>()) };
    let function = place.load(Ordering::Acquire);
    // SAFETY: both have the same size, and NULL is `None`; the caller guarantees the type.
    unsafe { std::mem::transmute_copy::<*mut c_void, Option<F>>(&function) }
}

// SAFETY: the table lives as long as the process, and its entries are read and written atomically.
unsafe impl Send for LiveTable {}

/// Stores a function in an entry that is still empty.
pub fn keep_first(place: &AtomicPtr<c_void>, function: *mut c_void) {
    let _ = place.compare_exchange(std::ptr::null_mut(), function, Ordering::AcqRel, Ordering::Acquire);
}
