use std::cell::RefCell;
use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread::{AccessError, LocalKey};

use super::Failure;
use super::opscope_status_t::OPSCOPE_ERROR_INVALID_STATE;

/// A text that C reads, kept by the object that it belongs to.
#[derive(Debug, Clone, Default)]
pub struct Text(CString);

impl Text {
    /// Keeps a text. A NUL inside of it would end it, and is replaced.
    pub fn new(text: &str) -> Self {
        Self(CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default())
    }

    /// Keeps a path, which need not be UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(CString::new(bytes).unwrap_or_default())
    }

    /// Returns the pointer for C, which is valid as long as this is not dropped.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }
}

/// Keeps what C reads until this thread asks for the next one, and describes it. Fails on a thread that is being torn down, which
/// has no place for it any more.
pub fn keep<T, D>(
    place: &'static LocalKey<RefCell<Option<T>>>,
    value: T,
    describe: impl FnOnce(&T) -> D,
) -> Result<D, Failure> {
    place.try_with(|place| describe(place.borrow_mut().insert(value))).map_err(ends)
}

/// Checks that this thread has a place for what C reads.
pub fn can_keep<T>(place: &'static LocalKey<RefCell<Option<T>>>) -> Result<(), Failure> {
    place.try_with(|_| ()).map_err(ends)
}

fn ends(_: AccessError) -> Failure {
    Failure::new(OPSCOPE_ERROR_INVALID_STATE, "the thread ends, and has no place for texts any more")
}

/// Reads a text that the caller passes.
///
/// # Safety
/// `from` is NULL, or points to a text that ends with NUL and stays as it is during `'a`.
pub unsafe fn read_text<'a>(from: *const c_char, name: &str) -> Result<&'a str, Failure> {
    // SAFETY: as the caller promises.
    unsafe { read_optional_text(from, name)? }.ok_or_else(|| Failure::argument(format!("{name} is NULL")))
}

/// Reads a text that the caller may leave out by passing NULL.
///
/// # Safety
/// As [`read_text`].
pub unsafe fn read_optional_text<'a>(from: *const c_char, name: &str) -> Result<Option<&'a str>, Failure> {
    if from.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not NULL, and the caller promises that it ends with NUL.
    let bytes = unsafe { CStr::from_ptr(from) };
    bytes.to_str().map(Some).map_err(|_| Failure::argument(format!("{name} is not UTF-8: {bytes:?}")))
}

/// Reads a path that the caller passes. Paths need not be UTF-8.
///
/// # Safety
/// As [`read_text`].
pub unsafe fn read_path(from: *const c_char, name: &str) -> Result<PathBuf, Failure> {
    // SAFETY: as the caller promises.
    unsafe { read_optional_path(from) }.ok_or_else(|| Failure::argument(format!("{name} is NULL")))
}

/// Reads a path that the caller may leave out by passing NULL.
///
/// # Safety
/// As [`read_text`].
pub unsafe fn read_optional_path(from: *const c_char) -> Option<PathBuf> {
    // SAFETY: it is not NULL, and the caller promises that it ends with NUL.
    (!from.is_null()).then(|| PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(from) }.to_bytes())))
}
