use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;

use super::loader::{self, Library};
use super::{NAME, VERSION, environment, warn};
use crate::tables;

const FUNCTION: &CStr = c"rocprofiler_set_api_table";

type SetTables = unsafe extern "C" fn(*const c_char, u64, instance: u64, tables: *mut *mut c_void, count: u64) -> c_int;

/// Gives the tables to the profiler, if there is one and the user has not forbidden it: what rocprofiler-register does.
pub fn register() {
    if !environment::is_enabled() || !(environment::asks_for_a_tool() || a_tool_is_loaded()) {
        return;
    }
    let function = match loader::visible(FUNCTION).map_or_else(in_its_library, Ok) {
        Ok(function) => function,
        Err(reason) => return warn(&format!("no profiler receives ranges and marks: {reason}")),
    };
    // SAFETY: the profiler exports a function of this type under this name.
    let set_tables = unsafe { std::mem::transmute::<NonNull<c_void>, SetTables>(function) };
    let tables = tables::ALL.as_ptr().cast_mut().cast();
    // SAFETY: the name ends with NUL, and the tables live as long as the process.
    let status = unsafe { set_tables(NAME.as_ptr(), VERSION.into(), 0, tables, tables::ALL.len() as u64) };
    if status != 0 {
        warn(&format!("the profiler did not take the tables: status {status}"));
    }
}

fn a_tool_is_loaded() -> bool {
    loader::visible(c"rocprofiler_configure").is_some()
}

/// Opens the profiler's library and returns its function.
fn in_its_library() -> Result<NonNull<c_void>, String> {
    let name = environment::library().unwrap_or_else(|| c"librocprofiler-sdk.so".to_owned());
    let library = open(&name)?;
    library.symbol(FUNCTION).ok_or_else(|| format!("{} has no {}", name.to_string_lossy(), FUNCTION.to_string_lossy()))
}

/// Opens a library by its name or path, then under its name beside this library, then by its name. The first error is the
/// one that is about what the user asked for.
fn open(name: &CStr) -> Result<Library, String> {
    if let Some(library) = Library::loaded(name).or_else(|| Library::load(name, libc::RTLD_GLOBAL)) {
        return Ok(library);
    }
    let error = loader::last_error();
    let base = Path::new(OsStr::from_bytes(name.to_bytes())).file_name().unwrap_or_default();
    let beside = loader::own_directory().map(|directory| directory.join(base));
    let places = beside.iter().map(|path| path.as_os_str()).chain([base]);
    let names = places.filter_map(|place| CString::new(place.as_bytes()).ok());
    let mut libraries = names.filter_map(|name| Library::load(&name, libc::RTLD_GLOBAL));
    libraries.next().ok_or(error)
}
