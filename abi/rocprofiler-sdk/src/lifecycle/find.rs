//! Finds tools: functions named `rocprofiler_configure`.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::loader::{self, Export, Library, Object, Scope};
use opscope_sys::{Mutex, MutexGuard};

use super::linked_tool::linked;
use crate::border::say;
use crate::layout::Configure;

/// The environment variable that names tools, separated by colons.
const LIBRARIES: &str = "ROCP_TOOL_LIBRARIES";
#[allow(unsafe_code, reason = "it names what other libraries export")]
const CONFIGURE: Export<Configure> =
    // SAFETY: the function with this name has this type in the interface of tools.
    unsafe { Export::new(c"rocprofiler_configure") };

/// The tools that producers named.
static NAMED: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// Whether any of them could not be loaded.
static IS_NAMED_MISSING: AtomicBool = AtomicBool::new(false);

fn named() -> MutexGuard<'static, Vec<CString>> {
    NAMED.lock()
}

/// Returns whether a file is a tool: a library that exports the function. Loads nothing.
pub fn is_tool(path: &CStr) -> bool {
    opscope_producer::exports(Path::new(OsStr::from_bytes(path.to_bytes())), CONFIGURE.name()).unwrap_or(false)
}

/// Adds a named tool.
pub fn add(path: CString) {
    named().push(path);
}

/// Returns whether a tool that a producer named could not be loaded.
pub fn is_named_missing() -> bool {
    IS_NAMED_MISSING.load(Ordering::Acquire)
}

/// Returns whether a tool may exist: one was named, or the process exports the function.
pub fn is_any_present() -> bool {
    let is_named = std::env::var_os(LIBRARIES).is_some_and(|libraries| !libraries.is_empty()) || !named().is_empty();
    is_named || linked().is_some() || loader::visible(&CONFIGURE, Scope::Process).is_some()
}

/// Returns the tools, each once: the forced one, the named ones, and those that are part of the process. If the
/// process's calls are bound to another library, returns only the forced one.
pub fn all(forced: Option<Configure>) -> Vec<Configure> {
    let mut found: Vec<Configure> = forced.into_iter().collect();
    if let Some(other) = other_library() {
        let other = other.to_string_lossy();
        say(format_args!("{other} was loaded before this library, so tools belong to it and are not called from here"));
        return found;
    }
    let mut add = |configure: Configure| {
        if !found.iter().any(|known| *known as usize == configure as usize) {
            found.push(configure);
        }
    };
    let listed = std::env::var_os(LIBRARIES).unwrap_or_default();
    let listed = listed.as_bytes().split(|byte| *byte == b':').filter(|path| !path.is_empty());
    let listed: Vec<CString> = listed.filter_map(|path| CString::new(path).ok()).collect();
    let named = named().clone();
    for path in &named {
        match of_library(path) {
            Some(configure) => add(configure),
            None => IS_NAMED_MISSING.store(true, Ordering::Release),
        }
    }
    listed.iter().filter_map(|path| of_library(path)).for_each(&mut add);
    linked().into_iter().for_each(&mut add);
    if let Some(configure) = loader::visible(&CONFIGURE, Scope::Process) {
        add(configure);
        loader::visible(&CONFIGURE, Scope::Next).into_iter().for_each(&mut add);
        of_loaded_objects().into_iter().for_each(&mut add);
    }
    found
}

/// Loads a library and returns its function. If that fails, reports why and returns `None`.
fn of_library(path: &CStr) -> Option<Configure> {
    let shown = OsStr::from_bytes(path.to_bytes()).display();
    let Some(library) = Library::load(path, true) else {
        let error = loader::last_error().unwrap_or_else(|| "no reason given".to_owned());
        say(format_args!("the tool {shown} cannot be loaded: {error}"));
        return None;
    };
    let configure = library.function(&CONFIGURE);
    if configure.is_none() {
        say(format_args!("{shown} is not a tool: it does not export rocprofiler_configure"));
    }
    configure
}

/// Returns the functions of all objects that are loaded.
fn of_loaded_objects() -> Vec<Configure> {
    let names = loader::loaded_names();
    let libraries = names.iter().filter(|name| !name.is_empty());
    libraries.filter_map(|name| loader::function_of_loaded(name, &CONFIGURE)).collect()
}

/// Returns the path of the library that the process's calls to these functions are bound to, if it is not this library.
fn other_library() -> Option<CString> {
    let bound = Object::at(loader::address(c"rocprofiler_create_context"))?;
    (bound.base != Object::own()?.base).then_some(bound.name)
}

/// Makes this library's functions visible to tools that are loaded later, however this library itself was loaded.
pub fn make_own_functions_visible() {
    if let Some(own) = Object::own() {
        own.make_visible();
    }
}
