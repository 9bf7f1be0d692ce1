//! When a model is good enough.

use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use opscope_text::shell_path;
use serde::{Serialize, Serializer};

use super::PrecisionError;
use super::target::Target;

/// When a model with some operators lowered is good enough.
#[derive(Debug, Clone, PartialEq)]
pub enum Criterion {
    /// Its outputs are close to those of the original.
    Target(Target),
    /// A command of the user's, run by `sh`, ends with 0. `{model}` in it stands for the model's file.
    Check(String),
}

impl Criterion {
    /// Returns whether a command ends with 0 for a model.
    ///
    /// # Errors
    /// Returns an error if it cannot be started.
    pub(super) fn check(command: &str, model: &Path) -> Result<bool, PrecisionError> {
        let words = command.replace("{model}", &shell_path(model));
        let mut shell = Command::new("sh");
        shell.args(["-c", &words]).stdin(Stdio::null()).stdout(Stdio::null());
        let failed = |source| PrecisionError::Check { command: command.to_owned(), source };
        Ok(shell.status().map_err(failed)?.success())
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(target) => target.fmt(f),
            Self::Check(command) => f.write_str(command),
        }
    }
}

impl Serialize for Criterion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
