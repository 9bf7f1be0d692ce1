use std::fmt::Display;

/// This library's name in messages.
const LIBRARY: &str = "libascendcl";

/// Calls a program's function. If it throws a C++ exception, reports that on stderr and returns `None`.
pub fn call_program<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_border::call_program(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report(LIBRARY, text);
}
