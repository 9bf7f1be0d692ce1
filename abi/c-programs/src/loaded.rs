//! A C file that is compiled and loaded into this process, together with the libraries that it is linked with.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

/// A shared library that was compiled and loaded. It is never unloaded.
#[derive(Clone, Copy, Debug)]
pub struct Loaded(*mut c_void);

impl Loaded {
    /// Loads a library that was just compiled.
    pub(crate) fn open(path: &Path) -> Self {
        let name = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: the name ends with a NUL, and the constructors that run are the test's own code. Its names are
        // global, as they are in a program that is linked with the libraries.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if library.is_null() {
            // SAFETY: dlopen failed on this thread, so there is a text.
            let reason = unsafe { CStr::from_ptr(libc::dlerror()) };
            panic!("{}", reason.to_string_lossy());
        }
        Self(library)
    }

    /// Returns a function of the file.
    ///
    /// # Safety
    ///
    /// `F` is the type of a function pointer, with the signature of the function in the file.
    pub unsafe fn function<F: Copy>(self, name: &CStr) -> F {
        // SAFETY: the library is never unloaded, and the name ends with a NUL.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null() && size_of::<F>() == size_of::<*mut c_void>(), "the file has {name:?}");
        // SAFETY: a function pointer has the size and the bits of this pointer, which is not NULL. The caller
        // guarantees the signature.
        unsafe { std::mem::transmute_copy(&symbol) }
    }
}
