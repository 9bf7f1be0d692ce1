//! Where the program's own library is.

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::sync::OnceLock;

use opscope_border::loader::{Object, loaded_names};
use ort_sys::OrtApiBase;

use super::system;
use crate::messages::say;

/// The function `OrtGetApiBase` of a library.
#[derive(Clone, Copy)]
pub struct Entry(pub unsafe extern "C" fn() -> *const OrtApiBase);

/// The function's name.
pub const NAME: &CStr = c"OrtGetApiBase";

impl Entry {
    /// Takes an address that the system's loader has found under the name. Returns `None` for null, and for the
    /// function of this library.
    pub fn of_another(address: *mut c_void) -> Option<Self> {
        let is_own = || Object::at(address).map(|object| object.base) == Object::own().map(|own| own.base);
        if address.is_null() || is_own() {
            return None;
        }
        // SAFETY: ONNX Runtime exports a function of this type under this name.
        Some(Self(unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> *const OrtApiBase>(address) }))
    }
}

/// Returns the function of the program's own library: the next one in the process's scope, or that of a library which
/// was loaded into a scope of its own, as plugins are.
pub fn own_entry() -> Option<Entry> {
    static FOUND: OnceLock<Entry> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Some(*found);
    }
    match Entry::of_another(system::lookup(libc::RTLD_NEXT, NAME)).or_else(in_another_scope) {
        Some(found) => Some(*FOUND.get_or_init(|| found)),
        None => {
            say("the program calls OrtGetApiBase, and no library of ONNX Runtime is loaded");
            None
        }
    }
}

fn in_another_scope() -> Option<Entry> {
    let entry = |name: &CStr| {
        // SAFETY: the name ends with NUL. The object is loaded, so no code of it is executed.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return None;
        }
        let found = Entry::of_another(system::lookup(handle, NAME));
        // SAFETY: the handle is open, and not used again.
        unsafe { libc::dlclose(handle) };
        found
    };
    loaded_names().iter().filter(|name| !name.is_empty()).find_map(|name| entry(name))
}
