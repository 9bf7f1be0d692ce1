//! Finds tools: functions named `rocprofiler_configure`.

use std::arch::global_asm;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::border::say;
use crate::layout::Configure;

/// The environment variable that names tools, separated by colons.
const LIBRARIES: &str = "ROCP_TOOL_LIBRARIES";
const CONFIGURE: &CStr = c"rocprofiler_configure";

// A reference that may stay open: the function of the process's own scope. Because this library has it, the linker of a program makes
// the program's own function visible to the loader, as with the vendor's library.
global_asm!(
    ".weak rocprofiler_configure",
    ".pushsection .data.rel.ro.opscope_linked_tool,\"aw\",@progbits",
    ".balign 8",
    ".globl opscope_linked_tool",
    ".hidden opscope_linked_tool",
    ".type opscope_linked_tool,@object",
    ".size opscope_linked_tool,8",
    "opscope_linked_tool:",
    ".quad rocprofiler_configure",
    ".popsection",
);

unsafe extern "C" {
    static opscope_linked_tool: Option<Configure>;
}

/// The tools that a producer named.
static NAMED: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// Whether one of them could not be loaded.
static IS_NAMED_MISSING: AtomicBool = AtomicBool::new(false);

fn named() -> MutexGuard<'static, Vec<CString>> {
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a file is a tool: a library that exports the function. Nothing is loaded.
pub fn is_tool(path: &CStr) -> bool {
    opscope_producer::exports(Path::new(OsStr::from_bytes(path.to_bytes())), CONFIGURE).unwrap_or(false)
}

/// Adds a tool to those that are found.
pub fn add(path: CString) {
    named().push(path);
}

/// Returns whether a tool that a producer named could not be loaded.
pub fn is_named_missing() -> bool {
    IS_NAMED_MISSING.load(Ordering::Acquire)
}

/// Returns whether there may be a tool: one is named, or is part of the process.
pub fn is_any_present() -> bool {
    let is_named = std::env::var_os(LIBRARIES).is_some_and(|libraries| !libraries.is_empty()) || !named().is_empty();
    is_named || linked().is_some() || global(libc::RTLD_DEFAULT).is_some()
}

/// Returns the tools: the one that was forced, those that are named, and those that are part of the process. Each comes once.
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
    if let Some(configure) = global(libc::RTLD_DEFAULT) {
        add(configure);
        global(libc::RTLD_NEXT).into_iter().for_each(&mut add);
        of_loaded_objects().into_iter().for_each(&mut add);
    }
    found
}

/// Returns the function that the loader found when it loaded this library.
fn linked() -> Option<Configure> {
    // SAFETY: the loader has filled it before any code of this library ran, with NULL or a function of this type.
    unsafe { opscope_linked_tool }
}

/// Returns the function that the process's own scope has.
fn global(scope: *mut c_void) -> Option<Configure> {
    // SAFETY: the name ends with NUL.
    as_configure(unsafe { libc::dlsym(scope, CONFIGURE.as_ptr()) })
}

/// Loads a library, and returns its function. What is wrong is said, and the library left out.
fn of_library(path: &CStr) -> Option<Configure> {
    let shown = OsStr::from_bytes(path.to_bytes()).display();
    // SAFETY: the path ends with NUL. The constructors of a library that the user names run.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL) };
    if library.is_null() {
        // SAFETY: after a failure it returns NULL or a text.
        let error = unsafe { libc::dlerror() };
        // SAFETY: as above.
        let error = if error.is_null() { c"no reason given" } else { unsafe { CStr::from_ptr(error) } };
        say(format_args!("the tool {shown} cannot be loaded: {}", error.to_string_lossy()));
        return None;
    }
    // SAFETY: the library was just loaded, and is never closed.
    let configure = as_configure(unsafe { libc::dlsym(library, CONFIGURE.as_ptr()) });
    if configure.is_none() {
        say(format_args!("{shown} is no tool: it does not export rocprofiler_configure"));
    }
    configure
}

/// Returns the functions of all objects that are loaded.
fn of_loaded_objects() -> Vec<Configure> {
    unsafe extern "C" fn collect(object: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
        // SAFETY: the loader passes an object, and `names` as it was given.
        unsafe {
            let name: *const c_char = (*object).dlpi_name;
            if !name.is_null() && *name != 0 {
                (*names.cast::<Vec<CString>>()).push(CStr::from_ptr(name).to_owned());
            }
        }
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback takes the pointer to `names`.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut names).cast()) };
    let of_object = |name: &CString| {
        // SAFETY: the name ends with NUL. Nothing is loaded that is not loaded already.
        let object = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if object.is_null() {
            return None;
        }
        // SAFETY: the object stays loaded until it is closed, which only undoes `dlopen`.
        unsafe {
            let function = libc::dlsym(object, CONFIGURE.as_ptr());
            libc::dlclose(object);
            as_configure(function)
        }
    };
    names.iter().filter_map(of_object).collect()
}

fn as_configure(function: *mut c_void) -> Option<Configure> {
    // SAFETY: a function of this name has this type: that is the interface of tools.
    (!function.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Configure>(function) })
}

/// Returns another library with the functions that tools call, if those of this process are bound to it.
fn other_library() -> Option<&'static CStr> {
    // SAFETY: the name ends with NUL.
    let bound = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rocprofiler_create_context".as_ptr()) };
    let (bound, own) = (object_of(bound)?, own_object()?);
    // SAFETY: the name is that of a loaded object, which is not unloaded: tools are bound to it.
    (bound.dli_fbase != own.dli_fbase).then(|| unsafe { CStr::from_ptr(bound.dli_fname) })
}

/// Makes the functions of this library visible to tools that are loaded later, however it was loaded itself.
pub fn make_own_functions_visible() {
    if let Some(own) = own_object() {
        // SAFETY: the name is that of a loaded object, which stays as it is.
        unsafe { libc::dlopen(own.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_GLOBAL) };
    }
}

fn own_object() -> Option<libc::Dl_info> {
    object_of(own_object as fn() -> Option<libc::Dl_info> as *const c_void)
}

/// Returns the object that an address lies in.
fn object_of(address: *const c_void) -> Option<libc::Dl_info> {
    // SAFETY: zeroes are NULL in every field.
    let mut object: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is writable; any address may be asked for.
    let is_found = unsafe { libc::dladdr(address, &raw mut object) } != 0;
    (is_found && !object.dli_fname.is_null()).then_some(object)
}
