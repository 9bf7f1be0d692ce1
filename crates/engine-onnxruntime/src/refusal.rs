//! The reasons that the library, or code that prepares something for it, gives for not doing what was requested.

use std::fmt;

/// A reason: part of a sentence, for the error of the model or of the run that it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// Returns it as text.
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.0
    }
}
