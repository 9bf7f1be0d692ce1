use std::ffi::{CString, c_char};

/// Texts that C reads. None moves as long as this lives.
#[derive(Default)]
pub(super) struct Texts(Vec<CString>);

impl Texts {
    /// Keeps a text and returns its address. A NUL inside it, which would end it in C, becomes U+FFFD.
    pub fn keep(&mut self, text: &str) -> *const c_char {
        let text = CString::new(text).or_else(|_| CString::new(text.replace('\0', "\u{fffd}")));
        let text = text.unwrap_or_default();
        // The characters have their own allocation, which does not move with the vector.
        let address = text.as_ptr();
        self.0.push(text);
        address
    }
}
