//! How the program finds the library: the exported functions.

#[cfg(target_arch = "x86_64")]
mod dlsym;

use std::ffi::{CStr, c_void};
use std::mem::transmute;
use std::panic::catch_unwind;
use std::ptr;
use std::sync::OnceLock;

use opscope_border::loader::{Object, loaded_names};
use ort_sys::OrtApiBase;

use crate::interface::slot_of;
use crate::messages::say;
use crate::tables::base_of;
use crate::variables::wanted;

/// Stands in for the function of the library: for programs that are linked with it. Returns the library's own table if
/// nothing is asked for.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub extern "C" fn OrtGetApiBase() -> *const OrtApiBase {
    catch_unwind(|| {
        let Some(Entry(entry)) = own_entry() else { return ptr::null() };
        // SAFETY: this is the library's own function.
        let base = unsafe { entry() };
        if wanted().is_nothing() {
            return base;
        }
        let known = ptr::NonNull::new(base.cast_mut());
        // SAFETY: the library's function has just returned it.
        known.and_then(|known| unsafe { slot_of(known) }).map_or(base, base_of)
    })
    .unwrap_or(ptr::null())
}

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
    match Entry::of_another(lookup(libc::RTLD_NEXT, NAME)).or_else(in_another_scope) {
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
        let found = Entry::of_another(lookup(handle, NAME));
        // SAFETY: the handle is open, and not used again.
        unsafe { libc::dlclose(handle) };
        found
    };
    loaded_names().iter().filter(|name| !name.is_empty()).find_map(|name| entry(name))
}

#[cfg(target_arch = "x86_64")]
pub use stood_in_for::{SYSTEM, is_there};

/// Calls the system's function. The caller is this library, so `RTLD_NEXT` means the scope after this library.
pub fn lookup(handle: *mut c_void, name: &CStr) -> *mut c_void {
    #[cfg(target_arch = "x86_64")]
    return stood_in_for::lookup(handle, name);
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the handle is open, or a constant of the loader, and the name ends with NUL.
    return unsafe { libc::dlsym(handle, name.as_ptr()) };
}

#[cfg(target_arch = "x86_64")]
mod stood_in_for {
    use std::ffi::{CStr, c_char, c_void};
    use std::mem::transmute;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// The system's function; null before it was first looked for.
    pub static SYSTEM: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

    /// The versions under which the C library has the function: since 2.34, and before.
    const VERSIONS: [&CStr; 2] = [c"GLIBC_2.34", c"GLIBC_2.2.5"];

    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void;

    /// Returns whether the system has the function, which is then in [`SYSTEM`].
    pub fn is_there() -> bool {
        system().is_some()
    }

    pub fn lookup(handle: *mut c_void, name: &CStr) -> *mut c_void {
        // SAFETY: the handle is open, or a constant of the loader, and the name ends with NUL.
        system().map_or(ptr::null_mut(), |system| unsafe { system(handle, name.as_ptr()) })
    }

    /// Allocates nothing and takes no lock of this library, because it may be called at any time.
    fn system() -> Option<Dlsym> {
        let mut found = SYSTEM.load(Ordering::Acquire);
        if found.is_null() {
            for version in VERSIONS {
                // SAFETY: both texts end with NUL.
                found = unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) };
                if !found.is_null() {
                    break;
                }
            }
            SYSTEM.store(found, Ordering::Release);
        }
        // SAFETY: the C library's function has this type. Null is `None`.
        unsafe { transmute::<*mut c_void, Option<Dlsym>>(found) }
    }
}
