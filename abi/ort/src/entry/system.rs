//! The system's `dlsym`, for which this library stands in on x86-64.

use std::ffi::{CStr, c_void};

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
