use std::fmt;

use opscope::engine::LibraryError;
use opscope::text::shown_text;

/// How a command ends: the exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// The command failed.
    Failed = 1,
    /// The command line, a configuration file or an input file is wrong.
    WrongUse = 2,
    /// The command was done, but data is missing.
    Incomplete = 3,
    /// The command compared two things, and they differ.
    Different = 4,
}

/// Why a command has no result.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// What was wrong, where, and what would be right: one line, and one for each of several problems.
    lines: Vec<String>,
}

impl Failure {
    /// Makes a failure of the command itself.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Reports that there is data, but not what was requested.
    pub fn incomplete(message: impl fmt::Display) -> Self {
        Self::new(Exit::Incomplete, message)
    }

    /// Reports a wrong command line, configuration file or input file.
    pub fn wrong_use(message: impl fmt::Display) -> Self {
        Self::new(Exit::WrongUse, message)
    }

    /// Adds a line for each problem.
    pub fn with_problems<P: fmt::Display>(mut self, problems: impl IntoIterator<Item = P>) -> Self {
        self.lines.extend(problems.into_iter().map(|problem| format!("  {}", one_line(problem))));
        self
    }

    /// Reports that the engine's library cannot be used.
    pub fn engine(error: &LibraryError) -> Self {
        Self { exit: Exit::WrongUse, lines: error.to_string().lines().map(one_line).collect() }
    }

    /// Adds to the message what would help.
    pub fn with_hint(mut self, hint: impl fmt::Display) -> Self {
        if let Some(message) = self.lines.first_mut() {
            message.push_str("; ");
            message.push_str(&one_line(hint));
        }
        self
    }

    fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, lines: vec![one_line(message)] }
    }
}

/// Escapes line breaks and control characters, which a message may have taken from a file.
fn one_line(message: impl fmt::Display) -> String {
    shown_text(&message.to_string()).into_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}
