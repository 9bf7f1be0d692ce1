//! Calls of functions that a program passes to a library.

use std::ffi::c_void;
use std::fmt::Display;
use std::io::Write;

use crate::exception::catch;
use crate::{Argument, ArgumentError};

/// The pointer that a program passes along with a function. It is only passed back.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserData(pub *mut c_void);

// SAFETY: the pointer is never dereferenced here. A program knows that other threads call its functions.
unsafe impl Send for UserData {}
// SAFETY: as above.
unsafe impl Sync for UserData {}

/// Returns a function that the program must pass.
///
/// The type of a callback in a signature is an `Option` of a *safe* function pointer: C guarantees that anything but
/// NULL is a function that accepts these arguments, as long as it may be called.
#[inline]
pub fn required<F>(callback: Option<F>, name: &'static str) -> Result<F, ArgumentError> {
    callback.ok_or(ArgumentError::Null { what: Argument::Callback, name })
}

/// Calls a program's function. If it throws a C++ exception, reports that on stderr and returns `None`. `library` and
/// `what` are the names of this library and of the function in the message.
pub fn call_program<R>(library: &str, what: &str, function: impl FnOnce() -> R) -> Option<R> {
    let mut result = None;
    if let Err(exception) = catch(|| result = Some(function())) {
        report(library, format_args!("{what} of a tool threw {exception}, which is ignored"));
    }
    result
}

/// Writes a message of a library to stderr. Never fails, because a program may have closed stderr.
pub fn report(library: &str, text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{library} (opscope): {text}");
}
