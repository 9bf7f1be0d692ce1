//! The functions by which a runtime registers its tables.

use std::ffi::c_int;

use opscope_border::Text;
use opscope_border::loader::Export;

use crate::tables::Tables;

/// The id that rocprofiler-register writes for a runtime.
#[repr(C)]
#[derive(Default)]
pub struct Id {
    handle: u64,
}

pub type Import = extern "C" fn() -> u32;
pub type RegisterTables = extern "C" fn(Text<'_>, Import, u32, &'static Tables, count: u64, &mut Id) -> c_int;
pub type SetTables = extern "C" fn(Text<'_>, u64, instance: u64, &'static Tables, count: u64) -> c_int;

/// A function of rocprofiler-register.
pub const REGISTER_TABLES: Export<RegisterTables> =
    // SAFETY: the function with this name has this type in rocprofiler-register's interface.
    unsafe { Export::new(c"rocprofiler_register_library_api_table") };

/// A function of a profiler.
pub const SET_TABLES: Export<SetTables> =
    // SAFETY: the function with this name has this type in the interface of profilers.
    unsafe { Export::new(c"rocprofiler_set_api_table") };
