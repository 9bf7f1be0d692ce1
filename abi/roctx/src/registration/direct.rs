use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use opscope_border::Text;
use opscope_border::loader::{self, Library, Object, Scope};

use super::functions::{SET_TABLES, SetTables};
use super::{NAME, VERSION, environment, warn};
use crate::tables;

/// Passes the tables to the profiler, as rocprofiler-register does. Does nothing if the user has disabled registration,
/// or if there is no tool.
pub fn register() {
    if !environment::is_enabled() || !(environment::asks_for_a_tool() || a_tool_is_loaded()) {
        return;
    }
    let set_tables = match loader::visible(&SET_TABLES, Scope::Process).map_or_else(in_its_library, Ok) {
        Ok(function) => function,
        Err(reason) => return warn(&format!("no profiler receives ranges and marks: {reason}")),
    };
    let status = set_tables(Text::from(NAME), VERSION.into(), 0, &tables::ALL, tables::ALL.len() as u64);
    if status != 0 {
        warn(&format!("the profiler did not take the tables: status {status}"));
    }
}

fn a_tool_is_loaded() -> bool {
    !loader::address(c"rocprofiler_configure").is_null()
}

/// Opens the profiler's library and returns its function.
fn in_its_library() -> Result<SetTables, String> {
    let name = environment::library().unwrap_or_else(|| c"librocprofiler-sdk.so".to_owned());
    let library = open(&name)?;
    let function = SET_TABLES.name().to_string_lossy();
    library.function(&SET_TABLES).ok_or_else(|| format!("{} has no {function}", name.to_string_lossy()))
}

/// Opens a library: by `name` as given, then by its file name in the directory of this library, then by its file name
/// alone. If all fail, returns the error for `name` as given.
fn open(name: &CStr) -> Result<Library, String> {
    if let Some(library) = Library::loaded(name).or_else(|| Library::load(name, true)) {
        return Ok(library);
    }
    let error = loader::last_error().unwrap_or_else(|| "the loader gives no reason".to_owned());
    let base = Path::new(OsStr::from_bytes(name.to_bytes())).file_name().unwrap_or_default();
    let own_directory = Object::own().and_then(|own| own.directory());
    let beside = own_directory.map(|directory| directory.join(base));
    let places = beside.iter().map(|path| path.as_os_str()).chain([base]);
    let names = places.filter_map(|place| CString::new(place.as_bytes()).ok());
    let mut libraries = names.filter_map(|name| Library::load(&name, true));
    libraries.next().ok_or(error)
}
