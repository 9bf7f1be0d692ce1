//! Calls of functions that a tool gave to a consumer.

mod exception;

use std::ffi::c_void;
use std::fmt::Display;
use std::io::Write;

use exception::catch;

/// The pointer that a tool gives along with a function. It is only handed back.
#[derive(Debug, Clone, Copy)]
pub struct ToolData(pub *mut c_void);

// SAFETY: nothing here reads what it points to. A tool knows that its functions are called from other threads.
unsafe impl Send for ToolData {}
// SAFETY: as above.
unsafe impl Sync for ToolData {}

/// Calls a tool's function. An exception of C++ that it throws ends here: it is reported on stderr, and the result is `None`. `library`
/// and `what` are what the message calls the consumer and the function.
pub fn call_tool<R>(library: &str, what: &str, function: impl FnOnce() -> R) -> Option<R> {
    let mut result = None;
    if let Err(exception) = catch(|| result = Some(function())) {
        report(library, format_args!("{what} of a tool threw {exception}, which is ignored"));
    }
    result
}

/// Writes what a consumer has to say to stderr. It never fails: a program may have closed stderr.
pub fn report(library: &str, text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{library} (opscope): {text}");
}
