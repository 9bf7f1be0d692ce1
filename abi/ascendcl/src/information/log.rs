//! The program's log.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::Write;

use opscope_border::Text;

/// The environment variable with the lowest level of lines that are written to standard error. If it is not set, no
/// lines are written.
const VARIABLE: &str = "OPSCOPE_ACL_LOG";
/// The names of the levels 0 to 3.
const LEVELS: [&str; 4] = ["debug", "info", "warning", "error"];
/// The size of the buffer for a message, with its NUL. Longer messages are cut.
const MOST: usize = 4096;

unsafe extern "C" {
    /// The C library's function. A `va_list` is passed as a pointer on all supported systems.
    fn vsnprintf(to: *mut c_char, room: usize, format: *const c_char, values: *mut c_void) -> c_int;
}

/// Writes a line of the program to standard error, if OPSCOPE_ACL_LOG names its level or a lower one.
pub(super) unsafe extern "C" fn write_line(
    level: c_int,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    format: *const c_char,
    values: *mut c_void,
) {
    let Ok(level) = usize::try_from(level) else { return };
    let Some((name, least)) = LEVELS.get(level).zip(least()) else { return };
    if level < least || format.is_null() {
        return;
    }
    let mut message = [0_u8; MOST];
    // SAFETY: the buffer has `MOST` bytes, and the caller guarantees the rest.
    unsafe { vsnprintf(message.as_mut_ptr().cast(), MOST, format, values) };
    let message = CStr::from_bytes_until_nul(&message).unwrap_or_default().to_string_lossy();
    // SAFETY: the caller guarantees that each is NULL or a text.
    let known = |part| unsafe { Text::from_ptr(part) }.given().map(CStr::to_string_lossy).unwrap_or_default();
    let (function, file) = (known(function), known(file));
    // A log that cannot be written must not end the program.
    let _ = writeln!(std::io::stderr().lock(), "{name}: {file}:{line} {function}: {message}");
}

/// Returns the lowest level that is written.
fn least() -> Option<usize> {
    let set = std::env::var(VARIABLE).ok()?;
    LEVELS.iter().position(|name| *name == set)
}
