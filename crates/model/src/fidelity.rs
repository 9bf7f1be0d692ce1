use std::fmt;

use serde::{Deserialize, Serialize};

/// How faithfully an engine follows the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fidelity {
    /// Operators are fused and rewritten. This is what is timed.
    Optimised,
    /// Every operator is executed as the file has it. This is what dumps, comparisons and breakpoints use. It is
    /// several times slower, so its times are never reported as the model's.
    Exact,
}

impl Fidelity {
    /// Both fidelities.
    pub const ALL: [Self; 2] = [Self::Optimised, Self::Exact];

    /// Returns `optimised` or `exact`, the word on the command line, in files and on the wire.
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
