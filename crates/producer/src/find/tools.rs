use std::fmt;
use std::path::{Path, PathBuf};

use super::elf::{self, NoLibrary};
use super::objects::UseToolFunction;
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
    #[error("it is no shared library ({0})")]
    NoLibrary(#[source] NoLibrary),
    /// No consumer runs tools.
    #[error("no library that runs tools was found")]
    NoConsumer,
    /// The tool is not made for any of the consumers that run tools.
    #[error("it is no tool for {}", Paths(.0))]
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
