use std::io;
use std::path::PathBuf;

/// Why a recording could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The directory of a new recording already exists.
    #[error("{} exists: a recording takes a directory of its own", .0.display())]
    Exists(PathBuf),
    /// A file could not be read or written.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// `create`, `write`, `read`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is no recording in this directory.
    #[error("{} holds no recording: it has no {missing}", path.display())]
    NotARecording {
        /// The directory.
        path: PathBuf,
        /// The missing file.
        missing: &'static str,
    },
    /// A file of a recording does not follow its format.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found, and what would be right.
        reason: String,
    },
    /// A recording of a format that this version cannot read.
    #[error("{} has schema '{found}', this version reads '{expected}'", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// The schema that was found.
        found: String,
        /// The schema that this version reads.
        expected: &'static str,
    },
    /// Reading was [cancelled](crate::Recording::set_cancel).
    #[error("it was interrupted")]
    Cancelled,
    /// A profiler switch that does not exist.
    #[error("there is no profiler switch '{name}'; there are {}", known.join(", "))]
    UnknownSwitch {
        /// The text that was given.
        name: String,
        /// Every switch.
        known: Vec<&'static str>,
    },
    /// A profiler switch with a value other than on or off.
    #[error("profiler switch '{name}' is on or off, not '{value}'")]
    SwitchValue {
        /// The switch.
        name: String,
        /// The text that was given.
        value: String,
    },
    /// The setting of a profiler switch does not have the form `KEY=VALUE`.
    #[error("'{0}' is not a profiler switch: write KEY=on or KEY=off")]
    SwitchSyntax(String),
    /// The trace buffer refused a call.
    #[error("the trace buffer could not be set up: {0}")]
    Trace(String),
}

impl ProfileError {
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
