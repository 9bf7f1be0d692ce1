use std::cell::RefCell;

thread_local! {
    /// The text of this thread's last call, if it failed.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text of a call; an empty text if it succeeded.
pub(super) fn keep(text: &str) {
    // A thread that is being torn down keeps nothing.
    let _ = LAST.try_with(|last| *last.borrow_mut() = ascii(text));
}

/// Returns a text as the interface has texts: ASCII, without a NUL. Names and paths in it may have other characters.
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

/// Returns the text of this thread's last call; it is empty if the call succeeded.
pub fn last() -> String {
    LAST.try_with(|last| last.borrow().clone()).unwrap_or_default()
}
