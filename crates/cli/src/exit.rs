use std::fmt;

use opscope::onnx::shown_text;

/// How a command ends: the exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// The command line, a configuration file or an input file is wrong.
    WrongUse = 2,
    /// It was done, but data is missing.
    Incomplete = 3,
    /// What was compared is different.
    Different = 4,
}

/// Why a command ended without a result.
#[derive(Debug)]
pub struct Failure {
    /// How it ends.
    pub exit: Exit,
    /// What was wrong, where, and what would be right: one line, but for a list of problems.
    lines: Vec<String>,
}

impl Failure {
    /// The command failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// Something is there, but not what was asked for.
    pub fn incomplete(message: impl fmt::Display) -> Self {
        Self::new(Exit::Incomplete, message)
    }

    /// The command was used wrongly.
    pub fn wrong_use(message: impl fmt::Display) -> Self {
        Self::new(Exit::WrongUse, message)
    }

    /// The same, with a line for each problem.
    pub fn with_problems<P: fmt::Display>(mut self, problems: impl IntoIterator<Item = P>) -> Self {
        self.lines.extend(problems.into_iter().map(|problem| format!("  {}", one_line(problem))));
        self
    }

    fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, lines: vec![one_line(message)] }
    }
}

/// A message may repeat what a file says.
fn one_line(message: impl fmt::Display) -> String {
    shown_text(&message.to_string()).into_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}
