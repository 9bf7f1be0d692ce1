use std::path::PathBuf;

use opscope::profile::ProfilerOptions;
use opscope_job::benchmark::Job;

use super::notes::Note;

/// What one call of `opscope benchmark` does. Everything in it was checked as far as that is possible without the model.
#[derive(Debug, Clone)]
pub struct BenchmarkRequest {
    /// The job. For [`Action::AclJson`], without what that file captures.
    pub job: Job,
    /// What to do with it.
    pub action: Action,
    /// The samples that a run is to have, if the command line says so.
    pub batch: Option<u64>,
    /// The tools that run over the model.
    pub tools: Vec<PathBuf>,
    /// Where a debugger can attach; nowhere if `None`.
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
    /// Run it with what a file captures, to the directories that the file names.
    AclJson {
        /// The file.
        path: PathBuf,
        /// Only compare the file with the model.
        check_only: bool,
        /// The options of a profile where the file says nothing. Only the raw recording is written.
        profiler: Box<ProfilerOptions>,
    },
}

/// Where a debugger can attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugServerSpec {
    /// The socket; if `None`, the one that the number of the process leads to.
    pub path: Option<PathBuf>,
}

/// The text that is printed of a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextForm {
    /// What matters, on one screen.
    Screen,
    /// All numbers.
    Details,
    /// All numbers, in the words of the tool whose command line it is.
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

/// A request, and what its user should know of it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What to do.
    pub request: BenchmarkRequest,
    /// What is ignored or means something else here.
    pub notes: Vec<Note>,
}
