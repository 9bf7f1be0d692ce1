use std::fmt::Display;

pub use opscope_border::UserData as Data;

/// This library's name in messages.
const LIBRARY: &str = "librocprofiler-sdk";

/// Calls a tool's function. If it throws a C++ exception, reports that on stderr and returns `None`.
pub fn call_tool<R>(what: &str, function: impl FnOnce() -> R) -> Option<R> {
    opscope_border::call_program(LIBRARY, what, function)
}

/// Writes a line to stderr.
pub fn say(text: impl Display) {
    opscope_border::report(LIBRARY, text);
}
