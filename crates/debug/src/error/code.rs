use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($( $(#[$doc:meta])* $code:ident = $text:literal, )*) => {
        /// The kind of an error with which a program answers a request. `docs/debug-protocol.md` describes the codes.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        #[non_exhaustive]
        pub enum ErrorCode {
            $( $(#[$doc])* $code, )*
            /// A code of a newer program, as it was sent.
            Unknown(String),
        }

        impl ErrorCode {
            /// Returns the code as it is written in the protocol.
            pub fn as_str(&self) -> &str {
                match self {
                    $( ErrorCode::$code => $text, )*
                    ErrorCode::Unknown(text) => text,
                }
            }
        }

        impl From<String> for ErrorCode {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $( $text => ErrorCode::$code, )*
                    _ => ErrorCode::Unknown(text),
                }
            }
        }
    };
}

error_codes! {
    /// The text of a request is not a JSON object with an `id`.
    Malformed = "malformed",
    /// The request does not exist, has wrong or missing fields, or its attachment does not fit.
    BadRequest = "bad_request",
    /// A frame or an answer is too long.
    TooLong = "too_long",
    /// The other side uses another protocol or version.
    Version = "version",
    /// `hello` must be the first request.
    HelloFirst = "hello_first",
    /// The process belongs to another user.
    NotAllowed = "not_allowed",
    /// The program already has the maximum number of connections.
    Busy = "busy",
    /// Another debugger is attached.
    AlreadyAttached = "already_attached",
    /// This debugger is not attached.
    NotAttached = "not_attached",
    /// The call is not allowed inside of a callback.
    RecursiveCall = "recursive_call",
    /// No thread waits at the event.
    NotStopped = "not_stopped",
    /// The thread of the event has continued already.
    AlreadyContinued = "already_continued",
    /// The event was not read yet.
    NotRead = "not_read",
    /// No breakpoint has this number.
    NoSuchBreakpoint = "no_such_breakpoint",
    /// The program already has the maximum number of breakpoints.
    TooManyBreakpoints = "too_many_breakpoints",
    /// The text is not the target of a breakpoint.
    Target = "target",
    /// No operator matches.
    NoSuchOperator = "no_such_operator",
    /// The condition of a breakpoint is wrong.
    Condition = "condition",
    /// No model has this number.
    NoSuchModel = "no_such_model",
    /// The text is not a reference to a tensor.
    Reference = "reference",
    /// The slice does not fit the tensor.
    Slice = "slice",
    /// The element or line does not exist.
    Offset = "offset",
    /// The tensor does not exist, either not yet or no longer.
    NoSuchTensor = "no_such_tensor",
    /// The data of a tensor cannot be read, or does not fit its type and shape.
    Tensor = "tensor",
    /// The tensor cannot be replaced in this way.
    Replacement = "replacement",
    /// The run cannot continue in this way.
    Resume = "resume",
    /// The expression cannot be evaluated.
    Evaluation = "evaluation",
    /// The program cannot attach the instrument that was asked for.
    Instrument = "instrument",
    /// The system lacks a resource.
    System = "system",
    /// The connection failed. Only a client reports this, about its own side.
    Connection = "connection",
    /// The program failed to answer.
    Internal = "internal",
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> Self {
        match code {
            ErrorCode::Unknown(text) => text,
            known => known.as_str().to_owned(),
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_a_newer_program_is_read_and_written_back_as_it_is() {
        for text in ["\"no_such_tensor\"", "\"of_a_newer_program\""] {
            let code: ErrorCode = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&code).unwrap(), text);
        }
        assert_eq!(ErrorCode::from("already_continued".to_owned()), ErrorCode::AlreadyContinued);
        assert_eq!(ErrorCode::from("else".to_owned()), ErrorCode::Unknown("else".into()));
    }
}
