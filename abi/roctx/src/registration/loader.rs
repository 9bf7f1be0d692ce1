//! The system's loader.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// A library that is never closed: it may keep the tables.
pub struct Library(NonNull<c_void>);

impl Library {
    /// Returns a library that the process has loaded.
    pub fn loaded(name: &CStr) -> Option<Self> {
        Self::load(name, libc::RTLD_NOLOAD)
    }

    /// Loads a library, which executes its constructors.
    pub fn load(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: the name ends with NUL. The user has asked for this library, by its name or by a tool that needs it, and
        // vouches for its constructors.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | flags) }).map(Self)
    }

    /// Returns a symbol of this library, or of those that it depends on.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name ends with NUL.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }
}

/// Returns a symbol that this library sees without opening another.
pub fn visible(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends with NUL.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// Returns the directory of the file that this code lies in.
pub fn own_directory() -> Option<PathBuf> {
    let mut information = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    let here = own_directory as fn() -> Option<PathBuf> as *const c_void;
    // SAFETY: the struct is writable; any address may be asked for.
    if unsafe { libc::dladdr(here, &mut information) } == 0 || information.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader gives a C string that lives as long as the object, which this code is a part of.
    let file = unsafe { CStr::from_ptr(information.dli_fname) };
    Path::new(OsStr::from_bytes(file.to_bytes())).parent().map(Path::to_owned)
}

/// Returns why the loader's last call on this thread failed.
pub fn last_error() -> String {
    // SAFETY: the function has no preconditions.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: the loader gives a C string that lives until this thread calls it again.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}
