use std::fmt;

use serde::{Deserialize, Serialize};

/// How faithfully the file is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fidelity {
    /// Fused and fast: what is timed.
    Optimised,
    /// Every operator is executed as it stands in the file: what dumps, comparisons and breakpoints use. Several times
    /// slower, so its times are never the model's.
    Exact,
}

impl Fidelity {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Optimised, Self::Exact];

    /// `optimised` or `exact`: the word on the command line, in files and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Optimised => "optimised",
            Self::Exact => "exact",
        }
    }
}

impl fmt::Display for Fidelity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
