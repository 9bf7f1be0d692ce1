use std::ffi::c_int;

use opscope_border::ArgumentError;

use super::codes::INTERNAL_ERROR;
use super::{Failure, messages};

/// The text of a failure is kept for `aclGetRecentErrMsg`.
impl opscope_border::Failure for Failure {
    type Status = c_int;

    fn success() -> c_int {
        0
    }

    fn panicked(text: &str) -> Self {
        Self::new(INTERNAL_ERROR, "EE9999", format!("opscope failed: {text}"))
    }

    fn report(self) -> c_int {
        messages::keep(self)
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::Null { name, .. } => Self::null(name),
            ArgumentError::Misaligned(name) => {
                Self::wrong_value(name, "of a pointer", "it is not aligned for its type")
            }
            ArgumentError::TooLong(name)
            | ArgumentError::WrongSize { name, .. }
            | ArgumentError::UnequalSize { name, .. }
            | ArgumentError::UnknownFields(name) => Self::wrong_value(name, "of a size", "it does not fit"),
            ArgumentError::TooMany { name, count, most } | ArgumentError::TooManyStructs { name, count, most } => {
                Self::wrong_value(name, count, &format!("there are at most {most}"))
            }
            ArgumentError::NotUtf8 { name, text } => {
                Self::wrong_value(name, format_args!("{text:?}"), "it is not UTF-8")
            }
        }
    }
}

/// Runs the body of an exported function that returns a value. If it fails, returns `otherwise`.
pub fn value<T>(otherwise: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    opscope_border::value(otherwise, body)
}
