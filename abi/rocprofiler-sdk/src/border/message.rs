use std::fmt::Display;
use std::io::Write;

/// Writes a line to stderr. It never fails: a program may have closed stderr.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "librocprofiler-sdk (opscope): {text}");
}
