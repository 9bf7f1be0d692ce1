//! Loaded objects, through the functions of `<dlfcn.h>` and `<link.h>`.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::ptr::NonNull;

use crate::consumers::SharedTable;
use crate::layout::{Attach, UseTool};

/// An open object. Dropping it undoes the opening: an object that was loaded before stays loaded.
pub(super) struct Object(NonNull<c_void>);

/// The `opscope_attach_producer` of an object that is never unloaded.
pub(super) struct AttachFunction(Attach);

/// The `opscope_use_tool` of an object that is never unloaded.
#[derive(Clone, Copy)]
pub(super) struct UseToolFunction(UseTool);

/// The first fields of `struct link_map`, which are the same in every libc.
#[repr(C)]
struct LinkMap {
    address: usize,
    name: *const c_char,
    dynamic: *const c_void,
}

impl Object {
    /// Opens a loaded object by its name in the loader; the executable's name is empty.
    pub fn loaded(name: &CStr) -> Option<Self> {
        let name = if name.is_empty() { ptr::null() } else { name.as_ptr() };
        // SAFETY: the name is null or a C string. With RTLD_NOLOAD no code of the object is executed.
        NonNull::new(unsafe { libc::dlopen(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD) }).map(Self)
    }

    /// Loads a library, which executes its constructors. If it returns `None`, [`last_error`] says why.
    pub fn load(path: &CStr) -> Option<Self> {
        // SAFETY: the path is a C string. The library exports opscope_attach_producer, so it is intended to be loaded
        // here.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        NonNull::new(handle).map(Self)
    }

    /// Returns the functions of a consumer if this object itself defines `attach`. The object is then never unloaded,
    /// because it may keep its table, or run threads. The second function is that of a consumer that runs tools.
    pub fn into_own_functions(
        self,
        attach: &CStr,
        use_tool: &CStr,
    ) -> Option<(AttachFunction, Option<UseToolFunction>)> {
        let attach = self.own_symbol(attach)?;
        let use_tool = self.own_symbol(use_tool);
        let _never_closed = ManuallyDrop::new(self);
        // SAFETY: the symbol is not null. A consumer exports a function of this type under this name.
        let attach = AttachFunction(unsafe { std::mem::transmute::<NonNull<c_void>, Attach>(attach) });
        // SAFETY: as above.
        let use_tool = use_tool.map(|use_tool| unsafe { std::mem::transmute::<NonNull<c_void>, UseTool>(use_tool) });
        Some((attach, use_tool.map(UseToolFunction)))
    }

    /// Returns the symbol that this object itself defines under a name. The loader's search also covers the libraries
    /// that an object depends on; a symbol of theirs is ignored.
    pub fn own_symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        let symbol = self.symbol(name)?;
        (base_of(symbol.as_ptr())? == base_of(self.dynamic_section()?)?).then_some(symbol)
    }

    /// Returns the symbol that this object, or one that it depends on, defines under a name.
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the handle is open, and the name is a C string.
        NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
    }

    /// Returns an address that is in this object and in no other.
    fn dynamic_section(&self) -> Option<*const c_void> {
        let mut map: *const LinkMap = ptr::null();
        // SAFETY: the handle is open, and RTLD_DI_LINKMAP writes one pointer.
        let status = unsafe { libc::dlinfo(self.0.as_ptr(), libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
        // SAFETY: on success the pointer leads to the object's link_map, which lives as long as the object is open.
        (status == 0 && !map.is_null()).then(|| unsafe { (*map).dynamic })
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the handle is open, and not used again. No function of the object was called.
        unsafe { libc::dlclose(self.0.as_ptr()) };
    }
}

impl AttachFunction {
    /// Returns its address, which identifies the consumer.
    pub fn address(&self) -> usize {
        self.0 as usize
    }

    /// Offers a table to the consumer and returns its status.
    pub fn call(&self, table: &'static SharedTable) -> c_int {
        // SAFETY: the object of this function is never closed. The table lives as long as the process.
        unsafe { (self.0)(table.as_ptr()) }
    }
}

impl UseToolFunction {
    /// Offers a tool to the consumer and returns its status.
    pub fn call(&self, path: &CStr) -> c_int {
        // SAFETY: the object of this function is never closed. The path is a C string.
        unsafe { (self.0)(path.as_ptr()) }
    }
}

/// Returns the loader's names of all loaded objects.
pub(super) fn loaded() -> Vec<CString> {
    unsafe extern "C" fn note(info: *mut libc::dl_phdr_info, _size: usize, names: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid struct, and the pointer to `names` below.
        let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
        // SAFETY: the loader's names are C strings.
        let name = if info.dlpi_name.is_null() { c"" } else { unsafe { CStr::from_ptr(info.dlpi_name) } };
        names.push(name.to_owned());
        0
    }
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: the callback has the required type. It does not unwind, except for a lack of memory, which aborts. It
    // calls no function of the loader, whose lock is held.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut names).cast()) };
    names
}

/// Returns the path of an object by its name in the loader.
pub(super) fn path_of(name: &CStr) -> PathBuf {
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    if name.is_empty() { std::env::current_exe().unwrap_or_default() } else { path.to_owned() }
}

/// Returns the shared library that contains this code, or `None` if the executable does.
pub(super) fn own_library() -> Option<PathBuf> {
    let here = information((own_library as fn() -> Option<PathBuf>) as *const c_void)?;
    let executable = Object::loaded(c"")?;
    if Some(here.dli_fbase.addr()) == executable.dynamic_section().and_then(base_of) {
        return None;
    }
    // SAFETY: dladdr returns a C string that lives as long as the object, which contains this code.
    Some(path_of(unsafe { CStr::from_ptr(here.dli_fname) }))
}

/// Returns whether the process has privileges that its user does not have. The environment must not influence such a
/// process.
pub(super) fn has_more_rights_than_its_user() -> bool {
    // SAFETY: getauxval has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns the base address of the object that an address is in.
pub(super) fn base_of(address: *const c_void) -> Option<usize> {
    information(address).map(|information| information.dli_fbase.addr())
}

fn information(address: *const c_void) -> Option<libc::Dl_info> {
    let mut information = libc::Dl_info {
        dli_fname: ptr::null(),
        dli_fbase: ptr::null_mut(),
        dli_sname: ptr::null(),
        dli_saddr: ptr::null_mut(),
    };
    // SAFETY: the struct is valid; any address may be looked up.
    let found = unsafe { libc::dladdr(address, &mut information) };
    (found != 0).then_some(information)
}

/// Returns why the loader refused the last call of this thread.
pub(super) fn last_error() -> String {
    // SAFETY: dlerror has no preconditions.
    let error = unsafe { libc::dlerror() };
    if error.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: the loader returns a C string that lives until the next call of this thread.
    unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned()
}

/// A loaded object that itself exports a symbol. It stays loaded while this lives.
pub struct Exporter {
    /// Its file.
    pub path: PathBuf,
    /// The symbol.
    pub symbol: NonNull<c_void>,
    object: Object,
}

/// Returns the loaded objects that themselves export a symbol with this name, in the order in which they were loaded.
pub fn exporters(name: &CStr) -> Vec<Exporter> {
    let exporter = |object_name: &CStr| {
        let object = Object::loaded(object_name)?;
        Some(Exporter { path: path_of(object_name), symbol: object.own_symbol(name)?, object })
    };
    loaded().iter().filter_map(|object_name| exporter(object_name)).collect()
}

/// Returns whether two addresses are in the same loaded object.
pub fn is_same_object(one: NonNull<c_void>, other: NonNull<c_void>) -> bool {
    let base = base_of(one.as_ptr());
    base.is_some() && base == base_of(other.as_ptr())
}

impl Exporter {
    /// Returns the symbol that the object itself exports under another name.
    pub fn own(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.object.own_symbol(name)
    }

    /// Returns the symbol that a name has in the object or in one that it depends on.
    pub fn visible(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.object.symbol(name)
    }
}
