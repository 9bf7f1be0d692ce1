use std::cell::RefCell;

thread_local! {
    /// The text of this thread's last call, if it failed.
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the text of a call; an empty text if it succeeded.
pub(super) fn keep(text: String) {
    // A thread that is being torn down keeps nothing.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

/// Returns the text of this thread's last call; it is empty if the call succeeded.
pub fn last() -> String {
    LAST.try_with(|last| last.borrow().clone()).unwrap_or_default()
}
