use std::ffi::{CStr, c_char, c_int, c_void};

use opscope_producer::layout::{OPSCOPE_TOOL_NOT_MINE, OPSCOPE_TOOL_TAKEN, OPSCOPE_TOOL_TOO_LATE, Table};

use super::{
    find,
    initialize::{initialize, initialize_with},
};
use crate::border::{Status, call};
use crate::layout::Configure;
use crate::phase::{NOT_YET, initialization};
use crate::{markers, producer};

/// Called by a runtime that initializes itself, with the tables of its functions. Known are "roctx", with three tables, and "opscope",
/// with the table of a producer. Of AMD's other runtimes nothing is wrapped. Returns 0 or a status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocprofiler_set_api_table(
    name: *const c_char,
    version: u64,
    instance: u64,
    tables: *mut *mut c_void,
    count: u64,
) -> c_int {
    let status = call(|| {
        if name.is_null() || tables.is_null() || count == 0 {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: it is not NULL, and the runtime passes a text.
        match unsafe { CStr::from_ptr(name) }.to_bytes() {
            b"roctx" => {
                // SAFETY: the runtime promises that these are its tables.
                let tables = unsafe { markers::Tables::new(version, instance, tables, count)? };
                if initialize() {
                    tables.register()
                } else {
                    tables.register_later()
                }
                Ok(())
            }
            b"opscope" => {
                // SAFETY: the producer promises that this is its table.
                let attached = unsafe { attach((*tables).cast()) };
                if attached == 0 { Ok(()) } else { Err(Status::IncompatibleAbi) }
            }
            // Runtimes whose calls are not traced here. They go on as without a tool.
            b"hsa" | b"hip" | b"hip_compiler" | b"rccl" | b"rocdecode" | b"rocjpeg" => {
                initialize();
                Ok(())
            }
            _ => Err(Status::InvalidArgument),
        }
    });
    status as c_int
}

/// Called by a producer, with the table of what it calls. Without a tool nothing is set in it, and runs cost nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_attach_producer(table: *mut Table) -> c_int {
    // SAFETY: as the producer promises.
    unsafe { attach(table) }
}

/// Returned to a producer that named a tool which cannot be loaded.
const TOOL_MISSING: c_int = 1;

unsafe fn attach(table: *mut Table) -> c_int {
    // SAFETY: as the caller promises.
    let attached = unsafe { producer::attach(table) };
    if attached == 0 && (initialization() != NOT_YET || find::is_any_present()) && initialize() {
        producer::connect_all();
    }
    // The user of this producer wants that tool.
    if find::is_named_missing() { TOOL_MISSING } else { attached }
}

/// Called by a producer before it attaches itself, with the path of a tool that its user named. Returns whether this library will
/// load it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_use_tool(path: *const c_char) -> c_int {
    let mut answer = OPSCOPE_TOOL_NOT_MINE;
    call(|| {
        if path.is_null() {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: it is not NULL, and the producer passes a text.
        let path = unsafe { CStr::from_ptr(path) };
        if find::is_tool(path) {
            answer = if initialization() == NOT_YET { OPSCOPE_TOOL_TAKEN } else { OPSCOPE_TOOL_TOO_LATE };
        }
        if answer == OPSCOPE_TOOL_TAKEN {
            find::add(path.to_owned());
        }
        Ok(())
    });
    answer
}

/// Initializes the library at once, with this function as the first tool's.
#[unsafe(no_mangle)]
pub extern "C" fn rocprofiler_force_configure(configure: Option<Configure>) -> Status {
    call(|| {
        if initialization() != NOT_YET {
            return Err(Status::ConfigurationLocked);
        }
        // SAFETY: the names end with NUL. A program that changes its environment in another thread meanwhile has the same problem
        // with the vendor's library.
        unsafe { libc::setenv(c"ROCPROFILER_REGISTER_FORCE_LOAD".as_ptr(), c"1".as_ptr(), 1) };
        if initialize_with(configure) { Ok(()) } else { Err(Status::ConfigurationLocked) }
    })
}
