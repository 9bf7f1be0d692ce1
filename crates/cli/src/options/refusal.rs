//! Why a command line is refused, and what a user should know about an option.

use std::fmt::{self, Display};
use std::path::PathBuf;

use opscope::engine::EngineName;

/// Why a command line is refused. The command ends with exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No model was given.
    #[error("no model was given; write `opscope benchmark MODEL.onnx` or `--model MODEL.onnx`")]
    NoModel,
    /// The model was given twice.
    #[error(
        "the model was given twice, as '{}' and as `--model {}`; keep one of them",
        .positional.display(),
        .option.display()
    )]
    TwoModels {
        /// The one without an option's name.
        positional: PathBuf,
        /// The one of `--model`.
        option: PathBuf,
    },
    /// The model is compiled for the vendor's device.
    #[error(
        "'{}' is an .om file, which is compiled for another vendor's device; pass the ONNX file it was converted from",
        .0.display()
    )]
    OmFile(PathBuf),
    /// Both instruments were asked for.
    #[error(
        "--profiler and --dump exclude each other: writing every tensor distorts the times that a profile shows; \
         run twice, once with each"
    )]
    ProfilerAndDump,
    /// An option has no meaning without another one.
    #[error("{option} needs {needed}")]
    Needs {
        /// The option that was given.
        option: &'static str,
        /// What is missing, and what it is for.
        needed: &'static str,
    },
    /// Options that exclude each other.
    #[error("{first} and {second} exclude each other: {reason}")]
    Excludes {
        /// One of them.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// An option requests something that does not exist here.
    #[error("{option}: {reason}")]
    NotHere {
        /// The option, with its value where that matters.
        option: String,
        /// Why, and what to do instead.
        reason: &'static str,
    },
    /// An option belongs to another engine than the one that runs the model.
    #[error(
        "{option} belongs to {belongs_to}, and {chosen} runs the model; add --engine {belongs_to}, or leave it out"
    )]
    OtherEngine {
        /// The option.
        option: &'static str,
        /// The engine that has it.
        belongs_to: EngineName,
        /// The engine that was chosen.
        chosen: EngineName,
    },
    /// A value that the library cannot read.
    #[error("{option}: {reason}")]
    Unreadable {
        /// The option.
        option: &'static str,
        /// The library's error: what is wrong, and what would be right.
        reason: String,
    },
    /// A value that cannot be read.
    #[error("{option}: {what}; {right}")]
    Value {
        /// The option.
        option: &'static str,
        /// What is wrong with the value.
        what: String,
        /// What would be right.
        right: &'static str,
    },
}

impl Refusal {
    /// Refuses a value for the reason that the library gives.
    pub(super) fn unreadable(option: &'static str, error: impl Display) -> Self {
        Self::Unreadable { option, reason: error.to_string() }
    }
}

/// Something about an option that a user should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How important it is.
    pub kind: NoteKind,
    /// The option or the environment variable, with its value where that matters.
    pub option: String,
    /// The note, without the option.
    pub text: &'static str,
}

/// How important a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// The option has no effect here, or a different one than in the tool that it comes from. The result is still the
    /// requested one.
    Note,
    /// A request is not fulfilled.
    Warning,
}

/// The notes so far.
#[derive(Debug, Default)]
pub(super) struct Notes(pub(super) Vec<Note>);

impl Notes {
    pub(super) fn note(&mut self, option: impl Into<String>, text: &'static str) {
        self.0.push(Note { kind: NoteKind::Note, option: option.into(), text });
    }

    pub(super) fn warning(&mut self, option: impl Into<String>, text: &'static str) {
        self.0.push(Note { kind: NoteKind::Warning, option: option.into(), text });
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.text)
    }
}
