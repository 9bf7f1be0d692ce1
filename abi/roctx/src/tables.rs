//! The three tables. Initially they contain the functions of [`unwrapped_functions`]. A profiler reads the entries and
//! overwrites them in place.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicPtr;

use opscope_border::{Entry, Out, Text};

use crate::unwrapped_functions;

pub type Mark = extern "C" fn(Text<'_>);
pub type RangePush = extern "C" fn(Text<'_>) -> c_int;
pub type RangePop = extern "C" fn() -> c_int;
pub type RangeStart = extern "C" fn(Text<'_>) -> u64;
pub type RangeStop = extern "C" fn(u64);
pub type GetThreadId = extern "C" fn(Out<'_, u64>) -> c_int;
pub type OfThread = extern "C" fn(u64) -> c_int;
pub type NameOsThread = extern "C" fn(Text<'_>) -> c_int;
pub type NameNumbered = extern "C" fn(Text<'_>, c_int) -> c_int;
pub type NameObject = extern "C" fn(Text<'_>, *const c_void) -> c_int;

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
    mark: Entry::new(Some(unwrapped_functions::mark)),
    range_push: Entry::new(Some(unwrapped_functions::range_push)),
    range_pop: Entry::new(Some(unwrapped_functions::range_pop)),
    range_start: Entry::new(Some(unwrapped_functions::range_start)),
    range_stop: Entry::new(Some(unwrapped_functions::range_stop)),
    get_thread_id: Entry::new(Some(unwrapped_functions::get_thread_id)),
};

pub static CONTROL: Control = Control {
    size: size_of::<Control>() as u64,
    profiler_pause: Entry::new(Some(unwrapped_functions::profiler_pause)),
    profiler_resume: Entry::new(Some(unwrapped_functions::profiler_resume)),
};

pub static NAME: Name = Name {
    size: size_of::<Name>() as u64,
    os_thread: Entry::new(Some(unwrapped_functions::name_os_thread)),
    hsa_agent: Entry::new(Some(unwrapped_functions::name_hsa_agent)),
    hip_device: Entry::new(Some(unwrapped_functions::name_hip_device)),
    hip_stream: Entry::new(Some(unwrapped_functions::name_hip_stream)),
};

/// The addresses of the tables, as profilers receive them. Profilers may keep the addresses and write to the tables, so
/// the tables are static.
pub static ALL: Tables = [
    AtomicPtr::new((&raw const CORE).cast_mut().cast()),
    AtomicPtr::new((&raw const CONTROL).cast_mut().cast()),
    AtomicPtr::new((&raw const NAME).cast_mut().cast()),
];

/// The array of the tables.
pub type Tables = [AtomicPtr<c_void>; 3];

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
