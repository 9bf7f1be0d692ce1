//! The three tables. They begin as what [`unwrapped`] does; a profiler reads entries and overwrites them, in this memory.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::unwrapped;

pub type Mark = unsafe extern "C" fn(*const c_char);
pub type RangePush = unsafe extern "C" fn(*const c_char) -> c_int;
pub type RangePop = unsafe extern "C" fn() -> c_int;
pub type RangeStart = unsafe extern "C" fn(*const c_char) -> u64;
pub type RangeStop = unsafe extern "C" fn(u64);
pub type GetThreadId = unsafe extern "C" fn(*mut u64) -> c_int;
pub type OfThread = unsafe extern "C" fn(u64) -> c_int;
pub type NameOsThread = unsafe extern "C" fn(*const c_char) -> c_int;
pub type NameNumbered = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
pub type NameObject = unsafe extern "C" fn(*const c_char, *const c_void) -> c_int;

/// A function that a profiler may overwrite at any time.
#[repr(transparent)]
pub struct Entry<F>(UnsafeCell<Option<F>>);

// SAFETY: the cell is only read here, atomically. A profiler writes whole pointers.
unsafe impl<F: Sync> Sync for Entry<F> {}

impl<F: Copy> Entry<F> {
    const fn new(function: F) -> Self {
        const { assert!(size_of::<Option<F>>() == size_of::<*mut c_void>()) };
        Self(UnsafeCell::new(Some(function)))
    }

    /// Returns the function that stands here now, or `unwrapped` if a profiler has stored NULL.
    #[inline]
    pub fn or(&self, unwrapped: F) -> F {
        // SAFETY: the cell has the size and alignment of a pointer and lives as long as the table. All accesses from here
        // are atomic.
        let cell = unsafe { AtomicPtr::from_ptr(self.0.get().cast::<*mut c_void>()) };
        let pointer = cell.load(Ordering::Acquire);
        // SAFETY: both have the same size. The pointer is null, which is `None`, or a function of this type: the one that the
        // table began with, or one that a profiler promises to be of this type.
        unsafe { std::mem::transmute_copy::<*mut c_void, Option<F>>(&pointer) }.unwrap_or(unwrapped)
    }
}

#[repr(C)]
pub struct Core {
    size: u64,
    pub mark: Entry<Mark>,
    pub range_push: Entry<RangePush>,
    pub range_pop: Entry<RangePop>,
    pub range_start: Entry<RangeStart>,
    pub range_stop: Entry<RangeStop>,
    pub get_thread_id: Entry<GetThreadId>,
}

#[repr(C)]
pub struct Control {
    size: u64,
    pub profiler_pause: Entry<OfThread>,
    pub profiler_resume: Entry<OfThread>,
}

#[repr(C)]
pub struct Name {
    size: u64,
    pub os_thread: Entry<NameOsThread>,
    pub hsa_agent: Entry<NameObject>,
    pub hip_device: Entry<NameNumbered>,
    pub hip_stream: Entry<NameObject>,
}

pub static CORE: Core = Core {
    size: size_of::<Core>() as u64,
    mark: Entry::new(unwrapped::mark),
    range_push: Entry::new(unwrapped::range_push),
    range_pop: Entry::new(unwrapped::range_pop),
    range_start: Entry::new(unwrapped::range_start),
    range_stop: Entry::new(unwrapped::range_stop),
    get_thread_id: Entry::new(unwrapped::get_thread_id),
};

pub static CONTROL: Control = Control {
    size: size_of::<Control>() as u64,
    profiler_pause: Entry::new(unwrapped::profiler_pause),
    profiler_resume: Entry::new(unwrapped::profiler_resume),
};

pub static NAME: Name = Name {
    size: size_of::<Name>() as u64,
    os_thread: Entry::new(unwrapped::name_os_thread),
    hsa_agent: Entry::new(unwrapped::name_hsa_agent),
    hip_device: Entry::new(unwrapped::name_hip_device),
    hip_stream: Entry::new(unwrapped::name_hip_stream),
};

/// The addresses of the tables, as profilers get them. They may be kept, so they live as long as the process.
pub static ALL: [AtomicPtr<c_void>; 3] = [
    AtomicPtr::new((&raw const CORE).cast_mut().cast()),
    AtomicPtr::new((&raw const CONTROL).cast_mut().cast()),
    AtomicPtr::new((&raw const NAME).cast_mut().cast()),
];

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<Core>() == 56);
    assert!(offset_of!(Core, mark) == 8);
    assert!(offset_of!(Core, range_push) == 16);
    assert!(offset_of!(Core, range_pop) == 24);
    assert!(offset_of!(Core, range_start) == 32);
    assert!(offset_of!(Core, range_stop) == 40);
    assert!(offset_of!(Core, get_thread_id) == 48);
    assert!(size_of::<Control>() == 24);
    assert!(offset_of!(Control, profiler_pause) == 8);
    assert!(offset_of!(Control, profiler_resume) == 16);
    assert!(size_of::<Name>() == 40);
    assert!(offset_of!(Name, os_thread) == 8);
    assert!(offset_of!(Name, hsa_agent) == 16);
    assert!(offset_of!(Name, hip_device) == 24);
    assert!(offset_of!(Name, hip_stream) == 32);
};
