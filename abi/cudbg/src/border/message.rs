use std::cell::RefCell;

thread_local! {
    /// The text of the failure of this thread's last call; empty if the call succeeded.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Stores the text of a call, which is empty if the call succeeded.
pub(super) fn keep(text: &str) {
    // While the thread is being torn down, the text is not stored.
    let _ = LAST.try_with(|last| *last.borrow_mut() = ascii(text));
}

/// Returns a text in the form of the interface: ASCII, without a NUL. Other characters, which names and paths may have,
/// are escaped.
pub fn ascii(text: &str) -> String {
    let escaped = |sign: char| (!sign.is_ascii() || sign == '\0').then(|| sign.escape_unicode());
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        match escaped(sign) {
            Some(escape) => plain.extend(escape),
            None => plain.push(sign),
        }
    }
    plain
}

/// Returns the text of the failure of this thread's last call; empty if the call succeeded.
pub fn last() -> String {
    LAST.try_with(|last| last.borrow().clone()).unwrap_or_default()
}
