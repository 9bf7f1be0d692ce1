//! Finds the profiler at the first call of any function, and passes it the tables.
//!
//! The thread that makes the first call registers. Other calls meanwhile, whether by other threads or by the profiler
//! itself, use the tables as they are at that moment. No call waits, so a profiler may call these functions, start
//! threads that call them, and wait for those threads. If another thread forks meanwhile, the child never registers.

#[allow(unsafe_code, reason = "it names what other libraries export")]
mod functions;

use std::ffi::{CStr, CString, OsStr, c_int};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use opscope_border::loader::{Library, Object, Scope};
use opscope_border::system::variable;
use opscope_border::{Text, loader};

use crate::tables;
use functions::{Id, SET_TABLES, SetTables};

/// The name by which this runtime registers.
const NAME: &CStr = c"roctx";

/// The version of the ROCTx runtime that this one replaces: 1.0.0.
pub const VERSION: u32 = 10_000;

/// No call was made yet, or the last attempt has to be repeated.
const NEW: u8 = 0;
/// A thread is registering.
const RUNNING: u8 = 1;
/// Nothing remains to be done.
const DONE: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(NEW);

/// The result of an attempt.
enum Outcome {
    /// The tables were passed on or refused, or there is no profiler.
    Done,
    /// Another runtime is being registered on this thread, and the profiler accepts only one at a time.
    Again,
}

/// Registers the tables, unless that was done already.
#[inline]
pub fn ensure() {
    if STATE.load(Ordering::Acquire) != DONE {
        register();
    }
}

#[cold]
fn register() {
    if STATE.compare_exchange(NEW, RUNNING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return;
    }
    let outcome = register_through().unwrap_or_else(|| {
        register_directly();
        Outcome::Done
    });
    let state = match outcome {
        Outcome::Done => DONE,
        Outcome::Again => NEW,
    };
    STATE.store(state, Ordering::Release);
}

/// Writes a line to stderr. A failure is ignored, because there is nowhere else to report it.
fn warn(message: &str) {
    let _ = std::io::stderr().write_all(format!("roctx: {message}\n").as_bytes());
}

/// Passes the tables to the profiler, as rocprofiler-register does. Does nothing if the user has disabled registration,
/// or if there is no tool.
fn register_directly() {
    if !is_enabled() || !(asks_for_a_tool() || a_tool_is_loaded()) {
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
    let name = library().unwrap_or_else(|| c"librocprofiler-sdk.so".to_owned());
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

/// Returns whether runtimes may register.
pub fn is_enabled() -> bool {
    variable(c"ROCPROFILER_REGISTER_ENABLED").is_none_or(|value| is_true(&value))
}

/// Returns whether a variable names a tool or a profiler's library, or forces registration.
pub fn asks_for_a_tool() -> bool {
    variable(c"ROCPROFILER_REGISTER_FORCE_LOAD").is_some_and(|value| is_true(&value))
        || library().is_some()
        || variable(c"ROCP_TOOL_LIBRARIES").is_some()
}

/// Returns the profiler's library that the user has named.
pub fn library() -> Option<CString> {
    variable(c"ROCPROFILER_REGISTER_LIBRARY")
}

/// Reads a switch: a number is true unless it is 0, a word is true unless it means no.
fn is_true(value: &CStr) -> bool {
    let value = value.to_bytes();
    if value.iter().all(u8::is_ascii_digit) {
        return value.iter().any(|digit| *digit != b'0');
    }
    !["off", "false", "no", "n", "f"].iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

const LIBRARY: &CStr = c"librocprofiler-register.so.0";

const SUCCESS: c_int = 0;
const NO_TOOLS: c_int = 1;
const REENTERED: c_int = 2;

/// Passes the tables to rocprofiler-register, which passes them on to profilers, now or later. Returns `None` if that
/// library cannot be loaded.
fn register_through() -> Option<Outcome> {
    let register_tables = loader::visible(&functions::REGISTER_TABLES, Scope::Process).or_else(|| {
        let library = Library::loaded(LIBRARY).or_else(|| Library::load(LIBRARY, false))?;
        library.function(&functions::REGISTER_TABLES)
    })?;
    let count = tables::ALL.len() as u64;
    let mut id = Id::default();
    match register_tables(Text::from(NAME), import, VERSION, &tables::ALL, count, &mut id) {
        SUCCESS | NO_TOOLS => {}
        REENTERED => return Some(Outcome::Again),
        status => warn(&format!("rocprofiler-register did not take the tables: status {status}")),
    }
    Some(Outcome::Done)
}

/// rocprofiler-register uses the address of this function to determine which file registers. The exported function with
/// the same purpose is not used, because the loader might resolve its name to another library.
extern "C" fn import() -> u32 {
    VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_by_zero_and_by_five_words() {
        for off in [c"0", c"00", c"off", c"OFF", c"false", c"False", c"no", c"n", c"N", c"f"] {
            assert!(!is_true(off), "{off:?}");
        }
        for on in [c"1", c"2", c"010", c"on", c"true", c"yes", c"y", c"t", c"-0", c"0x0", c"nope", c" no"] {
            assert!(is_true(on), "{on:?}");
        }
    }
}
