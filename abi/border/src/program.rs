//! Calls of functions that a program gave to a library.

use std::ffi::c_void;
use std::fmt::Display;
use std::io::Write;

use crate::exception::catch;
use crate::{Argument, ArgumentError};

/// The pointer that a program gives along with a function. It is only handed back.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserData(pub *mut c_void);

// SAFETY: nothing here reads what it points to. A program knows that its functions are called from other threads.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// Returns a function that the program has to give.
///
/// The type of a callback in a signature is an `Option` of a *safe* function pointer: C promises that what is not NULL
/// is a function that takes these arguments, as long as it may be called.
#[inline]
pub fn required<F>(callback: Option<F>, name: &'static str) -> Result<F, ArgumentError> {
    callback.ok_or(ArgumentError::Null { what: Argument::Callback, name })
}

/// Calls a program's function. An exception of C++ that it throws ends here: it is reported on stderr, and the result
/// is `None`. `library` and `what` are what the message calls this library and the function.
pub fn call_program<R>(library: &str, what: &str, function: impl FnOnce() -> R) -> Option<R> {
    let mut result = None;
    if let Err(exception) = catch(|| result = Some(function())) {
        report(library, format_args!("{what} of a tool threw {exception}, which is ignored"));
    }
    result
}

/// Writes what a library has to say to stderr. It never fails: a program may have closed stderr.
pub fn report(library: &str, text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{library} (opscope): {text}");
}
