use std::path::PathBuf;

use opscope::profile::ProfilerOptions;
use opscope_job::benchmark::Job;

use super::refusal::Note;

/// What one call of `opscope benchmark` does. Everything that can be checked without the model was checked.
#[derive(Debug, Clone)]
pub struct BenchmarkRequest {
    /// The job. For [`Action::AclJson`], it lacks what that file captures.
    pub job: Job,
    /// What to do with it.
    pub action: Action,
    /// The samples that a run should have, if the command line says so.
    pub batch: Option<u64>,
    /// The tools that run over the model.
    pub tools: Vec<PathBuf>,
    /// Where a debugger can attach, if it can.
    pub debug_server: Option<DebugServerSpec>,
    /// What is printed.
    pub reporting: Reporting,
}

/// What to do with a job.
#[derive(Debug, Clone)]
pub enum Action {
    /// Run it.
    Run,
    /// Only estimate the size of its dump.
    EstimateDump,
    /// Run it, and capture what a file selects, into the directories that the file names.
    AclJson {
        /// The file.
        path: PathBuf,
        /// Only compare the file with the model.
        check_only: bool,
        /// The options of a profile for everything that the file leaves open. Only the raw recording is written.
        profiler: Box<ProfilerOptions>,
    },
}

/// Where a debugger can attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugServerSpec {
    /// The path of the socket; if `None`, the one that the number of the process determines.
    pub path: Option<PathBuf>,
}

/// The form of the printed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// The important parts, on one screen.
    Screen,
    /// All numbers.
    Details,
    /// All numbers, in the words of the tool that the command line is written for.
    OtherTools,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reporting {
    /// The text.
    pub text: TextForm,
    /// Rows of the tables of a profile.
    pub rows: usize,
    /// One JSON document on stdout instead of text.
    pub json: bool,
    /// No messages but errors, and no progress.
    pub quiet: bool,
    /// More messages.
    pub debug: bool,
}

/// A request, and what the user should know about it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What to do.
    pub request: BenchmarkRequest,
    /// Options that are ignored or mean something else here.
    pub notes: Vec<Note>,
}
