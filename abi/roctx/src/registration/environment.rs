//! The environment variables that control registration. As with the loader's own variables, they are ignored in a
//! program with more privileges than its user.

use std::ffi::{CStr, CString};

use opscope_border::system::variable;

/// Returns whether runtimes may register.
pub fn is_enabled() -> bool {
    variable(c"ROCPROFILER_REGISTER_ENABLED").is_none_or(|value| is_true(&value))
}

/// Returns whether a variable names a tool or a profiler's library, or forces registration.
pub fn asks_for_a_tool() -> bool {
    variable(c"ROCPROFILER_REGISTER_FORCE_LOAD").is_some_and(|value| is_true(&value))
        || library().is_some()
        || variable(c"ROCP_TOOL_LIBRARIES").is_some()
}

/// Returns the profiler's library that the user has named.
pub fn library() -> Option<CString> {
    variable(c"ROCPROFILER_REGISTER_LIBRARY")
}

/// Reads a switch: a number is true unless it is 0, a word is true unless it means no.
fn is_true(value: &CStr) -> bool {
    let value = value.to_bytes();
    if value.iter().all(u8::is_ascii_digit) {
        return value.iter().any(|digit| *digit != b'0');
    }
    !["off", "false", "no", "n", "f"].iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_off_by_zero_and_by_five_words() {
        for off in [c"0", c"00", c"off", c"OFF", c"false", c"False", c"no", c"n", c"N", c"f"] {
            assert!(!is_true(off), "{off:?}");
        }
        for on in [c"1", c"2", c"010", c"on", c"true", c"yes", c"y", c"t", c"-0", c"0x0", c"nope", c" no"] {
            assert!(is_true(on), "{on:?}");
        }
    }
}
