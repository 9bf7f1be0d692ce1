use std::ffi::{CStr, c_char};

use opscope_border::exported;

/// The version of the header, as `major * 10000 + minor * 100 + patch`.
pub const OPSCOPE_VERSION: u32 = 100;

/// Returns the version of the library, in the form of `OPSCOPE_VERSION`.
#[exported]
pub fn opscope_version() -> u32 {
    OPSCOPE_VERSION
}

/// Returns the version of the library as a static text, such as "0.1.0".
#[exported]
pub fn opscope_version_text() -> *const c_char {
    const TEXT: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a version has no NUL"),
    };
    TEXT.as_ptr()
}

#[cfg(test)]
#[allow(unsafe_code, reason = "a test reads what a C program gets")]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_version_is_that_of_the_text() {
        // SAFETY: the text is static.
        let text = unsafe { CStr::from_ptr(opscope_version_text()) }.to_str().expect("UTF-8");
        let parts: Vec<u32> = text.split('.').map(|part| part.parse().expect("a number")).collect();
        assert_eq!(opscope_version(), parts[0] * 10_000 + parts[1] * 100 + parts[2]);
    }
}
