//! The ways in which a model can fail, and how one did.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a model fails: what must still happen in a smaller one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fails {
    /// An operator makes a NaN or an infinity of finite inputs.
    FirstNonfinite,
    /// tract and ONNX Runtime compute different values.
    EnginesDiffer,
    /// The optimised plan has other outputs than the exact one.
    PlanDiffers,
    /// Loading or running the model ends with an error that contains this text.
    Error(String),
    /// The process that runs the model dies by a signal.
    Crash,
    /// A command ends with code 0. `{model}` and `{inputs}` in it are replaced by the files.
    Command(String),
}

/// Why a text does not name a way to fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownFailure {
    /// The text is none of them.
    #[error(
        "there is no failure '{0}'; write 'first nonfinite', 'engines differ', 'plan differs', \"error 'TEXT'\", 'crash', or \
         \"command 'CMD {{model}} {{inputs}}'\""
    )]
    Name(String),
    /// The text of an error, or the command, is empty.
    #[error("'{0}' lacks a text in quotes, such as {0} '{1}'")]
    Empty(&'static str, &'static str),
    /// The command does not take the model.
    #[error(
        "the command '{0}' does not name the model; write {{model}} where its path belongs, and {{inputs}} for the .npz file"
    )]
    NoModel(String),
}

impl Fails {
    /// Returns whether a check of one model needs a process of its own, whichever engine runs it.
    pub(super) fn is_of_a_process(&self) -> bool {
        match self {
            Self::Crash | Self::Command(_) => true,
            Self::FirstNonfinite | Self::EnginesDiffer | Self::PlanDiffers | Self::Error(_) => false,
        }
    }
}

impl FromStr for Fails {
    type Err = UnknownFailure;

    fn from_str(text: &str) -> Result<Self, UnknownFailure> {
        let trimmed = text.trim();
        let (first, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
        let rest = unquoted(rest.trim());
        match (first, rest) {
            ("error", "") => Err(UnknownFailure::Empty("error", "no operator")),
            ("command", "") => Err(UnknownFailure::Empty("command", "./fails.sh {model} {inputs}")),
            ("error", text) => Ok(Self::Error(text.to_owned())),
            ("command", command) if !command.contains(MODEL) => Err(UnknownFailure::NoModel(command.to_owned())),
            ("command", command) => Ok(Self::Command(command.to_owned())),
            // With hyphens, a name needs no quotes in a shell.
            _ => match trimmed.replace('-', " ").split_whitespace().collect::<Vec<_>>().join(" ").as_str() {
                "first nonfinite" => Ok(Self::FirstNonfinite),
                "engines differ" => Ok(Self::EnginesDiffer),
                "plan differs" => Ok(Self::PlanDiffers),
                "crash" => Ok(Self::Crash),
                _ => Err(UnknownFailure::Name(text.to_owned())),
            },
        }
    }
}

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstNonfinite => f.write_str("first nonfinite"),
            Self::EnginesDiffer => f.write_str("engines differ"),
            Self::PlanDiffers => f.write_str("plan differs"),
            Self::Error(text) => write!(f, "error '{text}'"),
            Self::Crash => f.write_str("crash"),
            Self::Command(command) => write!(f, "command '{command}'"),
        }
    }
}

/// Where the path of the model belongs in a command.
pub(super) const MODEL: &str = "{model}";

/// Where the path of the inputs belongs in a command.
pub(super) const INPUTS: &str = "{inputs}";

/// Removes the quotes around a text, if it has a pair of them.
fn unquoted(text: &str) -> &str {
    let between = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    between('\'').or_else(|| between('"')).unwrap_or(text)
}

/// What makes two failures the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Symptom {
    /// An operator makes a NaN or an infinity.
    Nonfinite {
        /// The operator's type.
        op_type: String,
        /// Whether there is a NaN among its outputs, and not only infinities.
        nan: bool,
        /// Whether all of its inputs are finite. If not, they are infinite, and none is NaN.
        from_finite: bool,
    },
    /// Two engines differ, first at an operator of this type. `None` if the operator is not known.
    EnginesDiffer {
        /// The operator's type.
        op_type: Option<String>,
    },
    /// The optimised plan differs.
    PlanDiffers {
        /// Whether it runs, with other outputs. If not, it ends with an error, and the exact plan does not.
        runs: bool,
    },
    /// An error contains the text.
    Error,
    /// The process died by this signal.
    Crash {
        /// The signal's number.
        signal: i32,
    },
    /// The command ended with code 0.
    Command,
}

/// How a model failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What makes it the same failure as another.
    pub symptom: Symptom,
    /// One sentence for people, without a full stop.
    pub text: String,
    /// The name of the operator at which it fails, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_fail_is_read_and_written_alike() {
        for text in [
            "first nonfinite",
            "engines differ",
            "plan differs",
            "crash",
            "error 'no operator'",
            "command 'grep -q x {model}'",
        ] {
            assert_eq!(text.parse::<Fails>().unwrap().to_string(), text);
        }
        assert_eq!("  first   nonfinite ".parse(), Ok(Fails::FirstNonfinite));
        assert_eq!("engines-differ".parse(), Ok(Fails::EnginesDiffer));
        assert_eq!("error no operator".parse(), Ok(Fails::Error("no operator".to_owned())));
        assert_eq!("error \"it's\"".parse(), Ok(Fails::Error("it's".to_owned())));
    }

    #[test]
    fn a_wrong_text_is_refused_with_what_would_be_right() {
        let error = |text: &str| text.parse::<Fails>().unwrap_err().to_string();
        assert!(error("nan").starts_with("there is no failure 'nan'; write 'first nonfinite', "));
        assert!(error("nan").ends_with("\"command 'CMD {model} {inputs}'\""));
        assert!(error("error").contains("lacks a text in quotes"));
        assert!(error("command ''").contains("lacks a text in quotes"));
        assert!(error("command 'true'").contains("does not name the model; write {model}"));
    }
}
