//! The libraries of ONNX Runtime that the process uses, and their own tables. A process usually has one library. Each
//! library has a slot, which is a constant parameter of the functions that replace the library's own.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use opscope_border::loader::Object;
use opscope_sys::Mutex;
use ort_sys::{OrtApi, OrtApiBase};

use crate::messages::say;

/// The most libraries of a process whose functions are replaced.
pub const SLOTS: usize = 4;

/// A library.
pub struct Interface {
    base: NonNull<OrtApiBase>,
    /// Its file.
    pub path: PathBuf,
    /// The table of all its functions.
    table: NonNull<OrtApi>,
}

// SAFETY: the tables are never written, and the library stays loaded.
unsafe impl Send for Interface {}
// SAFETY: as above.
unsafe impl Sync for Interface {}

static INTERFACES: [OnceLock<Interface>; SLOTS] = [const { OnceLock::new() }; SLOTS];

/// The oldest version of the library that an engine can use to run models beside the program's sessions.
const OLDEST: u32 = 18;

/// Returns the slot of a library. If the library is not observed, returns `None`, and a line on stderr says why.
///
/// # Safety
/// `base` is what the function `OrtGetApiBase` of a loaded library has returned.
pub unsafe fn slot_of(base: NonNull<OrtApiBase>) -> Option<usize> {
    static ADDING: Mutex<()> = Mutex::new(());
    static LEFT_ALONE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let _adding = ADDING.lock();
    let is_this = |place: &OnceLock<Interface>| place.get().is_some_and(|known| known.base == base);
    if let Some(slot) = INTERFACES.iter().position(is_this) {
        return Some(slot);
    }
    let mut left_alone = LEFT_ALONE.lock();
    if left_alone.contains(&base.as_ptr().addr()) {
        return None;
    }
    let free = INTERFACES.iter().position(|place| place.get().is_none());
    let free = free.ok_or(LeftAlone::TooMany);
    // SAFETY: guaranteed by the caller.
    let added = free.and_then(|slot| Ok((slot, unsafe { Interface::new(base) }?)));
    match added {
        Ok((slot, interface)) => INTERFACES[slot].set(interface).is_ok().then_some(slot),
        Err(reason) => {
            say(reason);
            left_alone.push(base.as_ptr().addr());
            None
        }
    }
}

/// Returns the library in a slot, which has one.
pub fn interface(slot: usize) -> Option<&'static Interface> {
    INTERFACES.get(slot)?.get()
}

/// Why a library is not observed.
#[derive(Debug, thiserror::Error)]
enum LeftAlone {
    #[error("a library of ONNX Runtime is not observed: {SLOTS} others are in use already")]
    TooMany,
    #[error("{0} is not observed: 1.{OLDEST} or later of 1 is needed")]
    Version(String),
    #[error("{0} is not observed: it does not have the interface of its own version")]
    NoInterface(String),
    #[error("{0} is not observed: its file cannot be kept loaded")]
    Unloadable(String),
}

impl Interface {
    /// # Safety
    /// `base` is what the function `OrtGetApiBase` of a loaded library has returned.
    unsafe fn new(base: NonNull<OrtApiBase>) -> Result<Self, LeftAlone> {
        // SAFETY: guaranteed by the caller; the version is a static text.
        let (get_api, version) =
            unsafe { ((*base.as_ptr()).GetApi, CStr::from_ptr(((*base.as_ptr()).GetVersionString)())) };
        let version = version.to_string_lossy();
        let object = Object::at(base.as_ptr().cast()).unwrap_or_else(|| Object { base: 0, name: CString::default() });
        let path = Path::new(&*object.name.to_string_lossy()).to_owned();
        let named = || format!("ONNX Runtime {version} ({})", path.display());
        let number: Option<u32> = version.split('.').nth(1).and_then(|minor| minor.parse().ok());
        let number = number.filter(|number| version.starts_with("1.") && *number >= OLDEST);
        let number = number.ok_or_else(|| LeftAlone::Version(named()))?;
        // SAFETY: this is the library's own function.
        let table = NonNull::new(unsafe { get_api(number) }.cast_mut());
        let table = table.ok_or_else(|| LeftAlone::NoInterface(named()))?;
        // The tables must stay where they are.
        if !stays_loaded(&object.name) {
            return Err(LeftAlone::Unloadable(named()));
        }
        Ok(Self { base, path, table })
    }

    /// Returns what the library's `OrtGetApiBase` returns.
    pub fn base(&self) -> NonNull<OrtApiBase> {
        self.base
    }

    /// Returns the library's own table. It has at least the functions of version 1.18.
    pub fn table(&self) -> *const OrtApi {
        self.table.as_ptr()
    }
}

/// Keeps an object loaded until the process ends.
fn stays_loaded(name: &CStr) -> bool {
    // An empty name is that of the executable.
    // SAFETY: the name ends with NUL. The object is loaded, so no code of it is executed.
    name.is_empty()
        || !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE) }.is_null()
}
