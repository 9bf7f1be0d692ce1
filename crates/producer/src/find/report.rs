use std::ffi::c_int;
use std::fmt;
use std::path::PathBuf;

use super::elf::NoLibrary;
use super::places::LIBRARY_DIRECTORY;
use super::tools::OfferedTool;

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
