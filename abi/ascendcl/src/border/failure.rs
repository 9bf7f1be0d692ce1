use super::codes;

/// The failure of a call: the code that it returns, and the text that `aclGetRecentErrMsg` returns.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: i32,
    /// Begins with the code of the message, such as "EH0002".
    pub text: String,
}

impl Failure {
    /// Makes a failure from its code, the code of its message, such as "EH0001", and a text: what is wrong, and what
    /// would be right.
    pub fn new(code: i32, message_code: &str, text: impl AsRef<str>) -> Self {
        Self { code, text: format!("{message_code}: {}", text.as_ref()) }
    }

    /// Reports a pointer that is NULL.
    pub fn null(parameter: &str) -> Self {
        Self::new(codes::INVALID_PARAM, "EH0002", format!("argument {parameter} is NULL"))
    }

    /// Reports a value that is out of range.
    pub fn wrong_value(parameter: &str, value: impl std::fmt::Display, reason: &str) -> Self {
        Self::wrong_value_of(codes::INVALID_PARAM, parameter, value, reason)
    }

    /// Reports a value that is out of range, with its own code.
    pub fn wrong_value_of(code: i32, parameter: &str, value: impl std::fmt::Display, reason: &str) -> Self {
        Self::new(code, "EH0001", format!("value {value} of argument {parameter} is wrong: {reason}"))
    }

    /// Reports a path that cannot be used.
    pub fn bad_path(code: i32, path: impl std::fmt::Display, reason: impl std::fmt::Display) -> Self {
        Self::new(code, "EH0003", format!("path {path} cannot be used: {reason}"))
    }

    /// Reports a function or feature that is not supported here.
    pub fn unsupported(what: &str) -> Self {
        Self::new(codes::FEATURE_UNSUPPORTED, "EH0006", format!("{what} is not supported by opscope"))
    }
}
