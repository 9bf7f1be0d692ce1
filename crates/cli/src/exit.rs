use std::fmt;

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
    /// What was wrong, where, and what would be right.
    message: String,
}

impl Failure {
    /// The command failed.
    pub fn failed(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Failed, message: message.to_string() }
    }

    /// Something is there, but not what was asked for.
    pub fn incomplete(message: impl fmt::Display) -> Self {
        Self { exit: Exit::Incomplete, message: message.to_string() }
    }

    /// The command was used wrongly.
    pub fn wrong_use(message: impl fmt::Display) -> Self {
        Self { exit: Exit::WrongUse, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
