//! Tools that are offered to consumers, and the report of a search.

use std::ffi::c_int;
use std::fmt;
use std::path::{Path, PathBuf};

use super::elf;
use super::elf::NoLibrary;
use super::objects::UseToolFunction;
use super::places::LIBRARY_DIRECTORY;
use crate::layout::{OPSCOPE_TOOL_TAKEN, OPSCOPE_TOOL_TOO_LATE};

/// A tool that the user named, and the result of offering it.
#[derive(Debug)]
pub struct OfferedTool {
    /// The file, as the user named it.
    pub path: PathBuf,
    /// The consumer that loads it.
    pub taken_by: Result<PathBuf, ToolRefusal>,
}

/// The reason why no consumer loads a tool.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolRefusal {
    /// The file does not exist.
    #[error("there is no such file")]
    Missing,
    /// The file is not a shared library that this process could load.
    #[error("it is not a shared library ({0})")]
    NoLibrary(#[source] NoLibrary),
    /// No consumer runs tools.
    #[error("no library that runs tools was found")]
    NoConsumer,
    /// The tool is not made for any of the consumers that run tools.
    #[error("it is not a tool for {}", Paths(.0))]
    NotTaken(Vec<PathBuf>),
    /// The consumer that it is made for accepts no more tools.
    #[error("{} initialized its tools already", .0.display())]
    TooLate(PathBuf),
}

/// Offers a tool to these consumers, one after another. Returns the path of the one that will load it. Executes no code
/// of the tool.
pub(super) fn offer(tool: &Path, consumers: &[(&Path, UseToolFunction)]) -> Result<PathBuf, ToolRefusal> {
    if !tool.exists() {
        return Err(ToolRefusal::Missing);
    }
    elf::check_library(tool).map_err(ToolRefusal::NoLibrary)?;
    if consumers.is_empty() {
        return Err(ToolRefusal::NoConsumer);
    }
    // With an absolute path, the loader does not search elsewhere.
    let absolute = std::path::absolute(tool).map_err(|error| ToolRefusal::NoLibrary(error.into()))?;
    let mut too_late = None;
    for (path, use_tool) in consumers {
        match use_tool.call(&super::c_path(absolute.as_os_str())) {
            OPSCOPE_TOOL_TAKEN => return Ok(path.to_path_buf()),
            OPSCOPE_TOOL_TOO_LATE => too_late = Some(path.to_path_buf()),
            _ => {}
        }
    }
    let others = || ToolRefusal::NotTaken(consumers.iter().map(|(path, _)| path.to_path_buf()).collect());
    Err(too_late.map_or_else(others, ToolRefusal::TooLate))
}

struct Paths<'a>(&'a [PathBuf]);

impl fmt::Display for Paths<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, path) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { " or " };
            write!(f, "{before}{}", path.display())?;
        }
        Ok(())
    }
}

/// The result of a search for consumers.
#[derive(Debug, Default)]
pub struct Report {
    /// The objects that this search has attached.
    pub attached: Vec<PathBuf>,
    /// The files and directories that were not used, and why.
    pub skipped: Vec<Skipped>,
    /// The directories that were searched, in this order.
    pub searched: Vec<PathBuf>,
    /// The tools of the search. If any of them was accepted by no consumer, nothing was attached.
    pub tools: Vec<OfferedTool>,
}

/// Something that was not attached.
#[derive(Debug)]
pub struct Skipped {
    /// The file or directory.
    pub path: PathBuf,
    /// The reason.
    pub reason: SkipReason,
}

/// The reason why something was not attached.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The directory that the user named does not exist.
    #[error("{LIBRARY_DIRECTORY} names this directory, and it does not exist")]
    NoDirectory,
    /// A library with this name that is not a consumer, such as the vendor's own. It was not loaded.
    #[error("it is another library of this name (it does not export opscope_attach_producer) and was not loaded")]
    NoConsumer,
    /// The file cannot be read as a library.
    #[error("it cannot be read: {0}")]
    Unreadable(#[source] NoLibrary),
    /// The system's loader refused it.
    #[error("it cannot be loaded: {0}")]
    NotLoaded(String),
    /// The consumer does not support this version of the table.
    #[error("it was made for another version of opscope's producer table")]
    WrongVersion,
    /// The consumer refused.
    #[error("it refused to be attached, with status {0}")]
    Refused(c_int),
    /// There are too many consumers.
    #[error("too many consumers are attached already")]
    TooMany,
}

impl SkipReason {
    /// Returns whether the user should know. A vendor's library beside the producer is normal; everything else is a
    /// fault.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NoConsumer)
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}
