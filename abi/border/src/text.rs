use std::ffi::{CStr, CString, OsStr, c_char};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::{Argument, ArgumentError};

/// NULL, or a C text.
///
/// C guarantees that anything but NULL ends with NUL, and does not change during the call.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    /// No text.
    pub const NULL: Self = Self(std::ptr::null(), PhantomData);

    /// Takes a pointer from C.
    ///
    /// # Safety
    /// It satisfies the guarantee of this type.
    pub const unsafe fn from_ptr(pointer: *const c_char) -> Self {
        Self(pointer, PhantomData)
    }

    /// Returns the pointer.
    #[inline]
    pub fn as_ptr(self) -> *const c_char {
        self.0
    }

    /// Returns the text, unless it is NULL.
    #[inline]
    pub fn given(self) -> Option<&'a CStr> {
        // SAFETY: it is not NULL, and the type guarantees the rest.
        (!self.0.is_null()).then(|| unsafe { CStr::from_ptr(self.0) })
    }

    /// Returns the text, which is required.
    #[inline]
    pub fn c_str(self, name: &'static str) -> Result<&'a CStr, ArgumentError> {
        self.given().ok_or(ArgumentError::Null { what: Argument::Text, name })
    }

    /// Returns the text, which is required and must be UTF-8.
    #[inline]
    pub fn str(self, name: &'static str) -> Result<&'a str, ArgumentError> {
        utf8(self.c_str(name)?, name)
    }

    /// Returns the text, unless it is NULL. It must be UTF-8.
    #[inline]
    pub fn given_str(self, name: &'static str) -> Result<Option<&'a str>, ArgumentError> {
        self.given().map(|text| utf8(text, name)).transpose()
    }

    /// Returns the text as a path, which is required. It need not be UTF-8.
    pub fn path(self, name: &'static str) -> Result<PathBuf, ArgumentError> {
        self.c_str(name).map(path_of)
    }

    /// Returns the text as a path, unless it is NULL. It need not be UTF-8.
    pub fn given_path(self) -> Option<PathBuf> {
        self.given().map(path_of)
    }
}

impl<'a> From<&'a CStr> for Text<'a> {
    fn from(text: &'a CStr) -> Self {
        Self(text.as_ptr(), PhantomData)
    }
}

fn utf8<'a>(text: &'a CStr, name: &'static str) -> Result<&'a str, ArgumentError> {
    text.to_str().map_err(|_| ArgumentError::NotUtf8 { name, text: CString::from(text) })
}

fn path_of(text: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_may_be_missing_and_need_not_be_utf8() {
        let text = Text::from(c"model.onnx");
        assert_eq!(text.str("path"), Ok("model.onnx"));
        assert_eq!(Text::NULL.given(), None);
        assert_eq!(Text::NULL.given_str("path"), Ok(None));
        assert_eq!(Text::NULL.str("path"), Err(ArgumentError::Null { what: Argument::Text, name: "path" }));
        let text = Text::from(c"\xff");
        assert!(text.path("path").is_ok_and(|path| path.as_os_str().as_bytes() == b"\xff"));
        assert_eq!(text.str("path"), Err(ArgumentError::NotUtf8 { name: "path", text: c"\xff".to_owned() }));
    }
}
