use std::fmt;

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
