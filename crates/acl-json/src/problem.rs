use std::fmt;
use std::path::PathBuf;

/// One problem of an `acl.json`: where it is, what is wrong, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {what}; {right}{}", .kind.code_in(.location).map(|code| format!(" ({code})")).unwrap_or_default())]
pub struct Problem {
    /// Its location.
    pub location: Location,
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong there, without the location.
    pub what: String,
    /// What would be right.
    pub right: String,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, location: Location, what: String, right: String) -> Problem {
        Problem { location, kind, what, right }
    }

    /// Returns the vendor's code for this kind of problem, such as `EP0002`. `None` for problems of the file as a
    /// whole, and of names that a model does not have: the vendor's library does not check these.
    pub fn code(&self) -> Option<&'static str> {
        self.kind.code_in(&self.location)
    }
}

/// A location in an `acl.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// The file as a whole.
    File(PathBuf),
    /// A line and column of the text, for text that is not JSON. Both count from 1; columns count bytes.
    Text {
        /// The line.
        line: usize,
        /// The column.
        column: usize,
    },
    /// A value, as a JSON pointer (RFC 6901).
    Pointer(String),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File(path) => write!(f, "{}", path.display()),
            Location::Text { line, column } => write!(f, "line {line}, column {column}"),
            Location::Pointer(pointer) => f.write_str(top_or(pointer)),
        }
    }
}

/// The kind of a problem. It determines the vendor's code: `EP0001` to `EP0005`, or `EK0003` (a value) and `EK0005` (a
/// key) in the profiler's section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The file is missing, too large, or not a regular file.
    File,
    /// The text is not JSON or is nested too deep.
    Syntax,
    /// A key that does not exist.
    UnknownKey,
    /// A key that one object has twice.
    DuplicateKey,
    /// Something is missing, empty, or of the wrong type.
    Content,
    /// A value that is not one of the words that the key takes.
    Choice,
    /// A value outside of its range or form.
    Value,
    /// Two settings that exclude each other.
    Conflict,
    /// A name or range that does not fit the model.
    Model,
}

impl ProblemKind {
    fn code_in(self, location: &Location) -> Option<&'static str> {
        let in_profiler = matches!(location, Location::Pointer(pointer) if pointer.starts_with("/profiler"));
        match self {
            ProblemKind::File | ProblemKind::Model => None,
            ProblemKind::Syntax => Some("EP0004"),
            ProblemKind::Conflict => Some("EP0005"),
            ProblemKind::UnknownKey | ProblemKind::DuplicateKey if in_profiler => Some("EK0005"),
            _ if in_profiler => Some("EK0003"),
            ProblemKind::UnknownKey | ProblemKind::DuplicateKey | ProblemKind::Content => Some("EP0001"),
            ProblemKind::Choice => Some("EP0002"),
            ProblemKind::Value => Some("EP0003"),
        }
    }
}

/// Something that a user should know about a valid file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The location of the value, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// Its kind.
    pub kind: NoteKind,
    /// The note, without the location.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = top_or(&self.pointer);
        match self.kind {
            NoteKind::NoEffect => write!(f, "{location}: no effect on this engine: {}", self.text),
            NoteKind::Warning => write!(f, "{location}: {}", self.text),
        }
    }
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// The key is valid but has no meaning on this engine.
    NoEffect,
    /// The file does something that its writer may not expect.
    Warning,
}

fn top_or(pointer: &str) -> &str {
    if pointer.is_empty() { "top level" } else { pointer }
}
