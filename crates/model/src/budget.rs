use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// How much time and memory an engine may use to load a model and to make a plan of it, as a multiple of the engine's
/// default for a model of that size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoadBudget(NonZeroU32);

impl LoadBudget {
    /// Creates a budget of `factor` times the default.
    pub const fn times(factor: NonZeroU32) -> Self {
        Self(factor)
    }

    /// Returns the multiple of the default.
    pub const fn factor(self) -> u32 {
        self.0.get()
    }
}

impl Default for LoadBudget {
    fn default() -> Self {
        Self(NonZeroU32::MIN)
    }
}

impl FromStr for LoadBudget {
    type Err = InvalidLoadBudget;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_| InvalidLoadBudget)
    }
}

impl fmt::Display for LoadBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error for a text that is not a [`LoadBudget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a whole number from 1 on is needed: the multiple of the default budget")]
pub struct InvalidLoadBudget;
