//! `caller.c`, compiled and loaded.

use std::ffi::c_int;

use opscope_c_programs::{Language, Library, Program};

/// The contexts of `caller.c`, by what their buffers are for.
pub const EMIT: c_int = 0;
pub const THROUGHPUT: c_int = 1;
pub const LARGE: c_int = 2;
pub const SMALL: c_int = 3;
/// Stands for all of them.
pub const ALL: c_int = -1;

/// The functions of `caller.c`.
pub struct Caller {
    pub begin: extern "C" fn(c_int) -> c_int,
    pub start: extern "C" fn(c_int) -> c_int,
    pub stop: extern "C" fn(c_int) -> c_int,
    pub mark: extern "C" fn(u64),
    pub flush: extern "C" fn(c_int) -> c_int,
    pub delivered: extern "C" fn() -> u64,
    pub wrong: extern "C" fn() -> u64,
}

impl Caller {
    /// Compiles `caller.c`, and loads it with librocprofiler-sdk and ROCTx.
    pub fn load() -> Self {
        let source = Library::RocprofilerSdk.root().join("benches/markers/caller.c");
        let caller = Program::of(Library::RocprofilerSdk, source).uses(Library::Roctx);
        let libraries = ["-O2", "-lrocprofiler-sdk-roctx", "-lrocprofiler-sdk"];
        let caller = caller.options(&libraries).load(Language::C11);
        // SAFETY: each field has the signature of its function in the file.
        unsafe {
            Self {
                begin: caller.function(c"caller_begin"),
                start: caller.function(c"caller_start"),
                stop: caller.function(c"caller_stop"),
                mark: caller.function(c"caller_mark"),
                flush: caller.function(c"caller_flush"),
                delivered: caller.function(c"caller_delivered"),
                wrong: caller.function(c"caller_wrong"),
            }
        }
    }
}
