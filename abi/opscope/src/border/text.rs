use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::ptr;
use std::thread::{AccessError, LocalKey};

use opscope_border::Text;

use super::Failure;
use super::opscope_status_t::OPSCOPE_ERROR_INVALID_STATE;

/// A text that C reads, kept by the object that it belongs to.
#[derive(Debug, Clone, Default)]
pub struct KeptText(CString);

impl KeptText {
    /// Keeps a text. A NUL inside it would end it in C, and is replaced.
    pub fn new(text: &str) -> Self {
        Self(CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default())
    }

    /// Keeps a path, which need not be UTF-8.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(CString::new(bytes).unwrap_or_default())
    }

    /// Returns the text as C receives it.
    pub fn for_c(&self) -> Text<'_> {
        Text::from(self.0.as_c_str())
    }

    /// Returns the pointer for C, which is valid as long as this lives.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }
}

/// Texts that C reads as an array of pointers. A missing text is NULL.
#[derive(Debug)]
pub struct KeptTexts {
    /// The texts that the pointers lead to.
    _texts: Vec<Option<KeptText>>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers lead to the texts beside them, which never change.
unsafe impl Send for KeptTexts {}
// SAFETY: as above.
unsafe impl Sync for KeptTexts {}

impl KeptTexts {
    /// Returns the pointers for C, which are valid as long as this lives.
    pub fn pointers(&self) -> &[*const c_char] {
        &self.pointers
    }
}

impl FromIterator<Option<KeptText>> for KeptTexts {
    fn from_iter<I: IntoIterator<Item = Option<KeptText>>>(texts: I) -> Self {
        let texts: Vec<_> = texts.into_iter().collect();
        let pointers = texts.iter().map(|text| text.as_ref().map_or(ptr::null(), KeptText::as_ptr)).collect();
        Self { _texts: texts, pointers }
    }
}

/// Keeps a value that C reads until this thread's next query, and returns its description. Fails on a thread that is
/// being torn down, which can no longer keep the value.
pub fn keep<T, D>(
    place: &'static LocalKey<RefCell<Option<T>>>,
    value: T,
    describe: impl FnOnce(&T) -> D,
) -> Result<D, Failure> {
    place.try_with(|place| describe(place.borrow_mut().insert(value))).map_err(ends)
}

/// Checks that this thread can keep a value that C reads.
pub fn can_keep<T>(place: &'static LocalKey<RefCell<Option<T>>>) -> Result<(), Failure> {
    place.try_with(|_| ()).map_err(ends)
}

fn ends(_: AccessError) -> Failure {
    Failure::new(OPSCOPE_ERROR_INVALID_STATE, "the thread ends, and has no place for texts any more")
}
