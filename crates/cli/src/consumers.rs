//! Libraries that receive what this command runs.

use crate::terminal::Messages;

/// Finds consumers and attaches them, before the first model is loaded.
pub fn attach(messages: Messages) {
    let report = opscope::consumers::attach(c"opscope");
    for path in &report.attached {
        messages.debug(format!("{} is attached", path.display()));
    }
    for skipped in &report.skipped {
        if skipped.reason.is_fault() { messages.warning(skipped) } else { messages.debug(skipped) }
    }
}
