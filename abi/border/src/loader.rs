//! The system's loader: typed functions that other libraries export.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

/// The name under which libraries export a function, and the function's type.
pub struct Export<F> {
    name: &'static CStr,
    function: PhantomData<F>,
}

impl<F> Export<F> {
    /// Names an export.
    ///
    /// # Safety
    /// Whatever a library exports under this name is a function of this type, which is a safe function pointer.
    pub const unsafe fn new(name: &'static CStr) -> Self {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        Self { name, function: PhantomData }
    }

    /// Returns the name.
    pub const fn name(&self) -> &'static CStr {
        self.name
    }
}

/// A loaded library. It is never closed, so its functions may be called until the process ends.
#[derive(Clone, Copy)]
pub struct Library(NonNull<c_void>);

// SAFETY: a handle of the loader belongs to no thread.
unsafe impl Send for Library {}

impl Library {
    /// Returns a library that the process has loaded. Executes no code of it.
    pub fn loaded(name: &CStr) -> Option<Self> {
        Self::open(name, libc::RTLD_NOLOAD)
    }

    /// Loads a library, which executes its constructors. `is_global` makes its functions visible to libraries that are
    /// loaded later.
    pub fn load(name: &CStr, is_global: bool) -> Option<Self> {
        Self::open(name, if is_global { libc::RTLD_GLOBAL } else { libc::RTLD_LOCAL })
    }

    fn open(name: &CStr, flags: c_int) -> Option<Self> {
        // SAFETY: the name ends with NUL. The user requested this library, by its name or through a tool that needs it,
        // and vouches for its constructors.
        NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | flags) }).map(Self)
    }

    /// Returns the function that this library, or one that it depends on, exports.
    pub fn function<F: Copy>(self, export: &Export<F>) -> Option<F> {
        symbol(self.0.as_ptr(), export)
    }
}

/// Returns the function that a loaded object, or one that it depends on, exports. Does not keep the object loaded.
pub fn function_of_loaded<F: Copy>(name: &CStr, export: &Export<F>) -> Option<F> {
    let library = Library::loaded(name)?;
    let function = library.function(export);
    // SAFETY: the handle is open, and not used again. This only undoes the opening, which loaded nothing.
    unsafe { libc::dlclose(library.0.as_ptr()) };
    function
}

/// The objects in which a function is searched, if not in a particular library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The process's own scope: the program, the libraries that it is linked with, and those that were loaded globally.
    Process,
    /// The part of that scope that comes after the calling library.
    Next,
}

/// Returns the function that the process exports.
pub fn visible<F: Copy>(export: &Export<F>, scope: Scope) -> Option<F> {
    symbol(if scope == Scope::Next { libc::RTLD_NEXT } else { libc::RTLD_DEFAULT }, export)
}

fn symbol<F: Copy>(handle: *mut c_void, export: &Export<F>) -> Option<F> {
    // SAFETY: the handle is open, or a constant of the loader, and the name ends with NUL.
    let found = NonNull::new(unsafe { libc::dlsym(handle, export.name.as_ptr()) })?;
    // SAFETY: both have the same size, and the caller of `Export::new` guaranteed that this is such a function.
    Some(unsafe { std::mem::transmute_copy::<NonNull<c_void>, F>(&found) })
}

/// Returns the address that the process exports under a name; null if there is none.
pub fn address(name: &CStr) -> *const c_void {
    // SAFETY: the name ends with NUL.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

/// An object that the process has loaded: the executable or a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its base address.
    pub base: usize,
    /// The name by which it was loaded.
    pub name: CString,
}

impl Object {
    /// Returns the object that contains an address.
    #[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the address is compared, not read")]
    pub fn at(address: *const c_void) -> Option<Self> {
        let mut information = libc::Dl_info {
            dli_fname: ptr::null(),
            dli_fbase: ptr::null_mut(),
            dli_sname: ptr::null(),
            dli_saddr: ptr::null_mut(),
        };
        // SAFETY: the struct may be written; any address may be looked up.
        let is_found = unsafe { libc::dladdr(address, &mut information) } != 0;
        // SAFETY: the loader returns a C string that lives as long as the object, which is not unloaded meanwhile.
        let name =
            (is_found && !information.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(information.dli_fname) });
        name.map(|name| Self { base: information.dli_fbase.addr(), name: name.to_owned() })
    }

    /// Returns the object that contains this code.
    pub fn own() -> Option<Self> {
        Self::at(Self::own as fn() -> Option<Self> as *const c_void)
    }

    /// Returns the directory of its file.
    pub fn directory(&self) -> Option<PathBuf> {
        Path::new(OsStr::from_bytes(self.name.to_bytes())).parent().map(Path::to_owned)
    }

    /// Makes its functions visible to libraries that are loaded later, however it was itself loaded.
    pub fn make_visible(&self) {
        // A loaded object is not loaded again.
        let _ = Library::open(&self.name, libc::RTLD_NOLOAD | libc::RTLD_GLOBAL);
    }
}

/// Returns the names of all loaded objects. The executable's is empty.
pub fn loaded_names() -> Vec<CString> {
    unsafe extern "C" fn note(object: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
        // SAFETY: the loader passes an object with its name, and `names` unchanged.
        let (name, names): (*const c_char, &mut Vec<CString>) = unsafe { ((*object).dlpi_name, &mut *names.cast()) };
        // SAFETY: the loader's names are C strings.
        names.push(if name.is_null() { CString::default() } else { unsafe { CStr::from_ptr(name) }.to_owned() });
        0
    }
    let mut names = Vec::new();
    // SAFETY: the callback has the required type, and calls no function of the loader, whose lock is held.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names
}

/// Returns how many bytes there are from an address to the end of the memory that the loader has made read-only after
/// it relocated the object. `None` if the address is in no such memory.
#[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the address is compared, not read")]
pub fn read_only_bytes_from(address: *const c_void) -> Option<usize> {
    struct Search {
        address: usize,
        found: Option<usize>,
    }
    unsafe extern "C" fn look(object: *mut libc::dl_phdr_info, _size: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes an object with its headers, and `search` unchanged.
        let (object, search): (&libc::dl_phdr_info, &mut Search) = unsafe { (&*object, &mut *search.cast()) };
        for index in 0..usize::from(object.dlpi_phnum) {
            // SAFETY: the object has this many headers.
            let header = unsafe { &*object.dlpi_phdr.add(index) };
            let start = (object.dlpi_addr + header.p_vaddr) as usize;
            let end = start + header.p_memsz as usize;
            if header.p_type == libc::PT_GNU_RELRO && (start..end).contains(&search.address) {
                search.found = Some(end - search.address);
                return 1;
            }
        }
        0
    }
    let mut search = Search { address: address.addr(), found: None };
    // SAFETY: the callback has the required type, and calls no function of the loader, whose lock is held.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// Returns the reason of the loader's last failure on this thread. `None` if nothing failed since the last call of this
/// function.
pub fn last_error() -> Option<String> {
    // SAFETY: the function has no preconditions.
    let error = unsafe { libc::dlerror() };
    // SAFETY: the loader returns a C string that lives until this thread calls it again.
    (!error.is_null()).then(|| unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned())
}
