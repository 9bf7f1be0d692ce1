use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use opscope::model::LoadBudget;
use opscope::verify::Verify;

use super::dump::DumpArguments;
use super::profiler::{ProfilerSwitches, RecordMemory};
use super::shapes::ShapeChoice;

/// What one call of `opscope benchmark` shall do. Everything in it was checked as far as that goes without the model.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkRequest {
    /// The ONNX file.
    pub model: PathBuf,
    /// What the model is fed with.
    pub inputs: Inputs,
    /// The shapes of dynamic inputs.
    pub shapes: ShapeChoice,
    /// Samples per run, for the throughput only; taken from the inputs when there is none.
    pub batch_size: Option<NonZeroU64>,
    /// The axis on which outputs are split into one file per input file.
    pub output_batch_axis: usize,
    /// How often.
    pub repetition: Repetition,
    /// What loading the model may take.
    pub load_budget: LoadBudget,
    /// Whether the optimised plan is compared with the exact one.
    pub verify: Verify,
    /// Where results go; they are only printed when there is none.
    pub output: Option<Output>,
    /// What captures the runs.
    pub instrument: InstrumentChoice,
    /// Whether a debugger can attach.
    pub debug_server: Option<DebugServer>,
    /// What is printed.
    pub reporting: Reporting,
}

/// What the model is fed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inputs {
    /// Data that is made up.
    Generated {
        /// Of which kind.
        data: PureData,
        /// The seed of random data.
        seed: u64,
    },
    /// Files or directories, in the order of the model's inputs.
    Files(Vec<PathBuf>),
}

/// Data that is made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
#[allow(missing_docs)]
pub enum PureData {
    #[default]
    Zero,
    /// Valid for the input's element type.
    Random,
}

/// How often the model runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// Measured runs per set of inputs; with `until_stable` or `duration` the least number.
    pub loops: NonZeroU64,
    /// Runs before those, which are not measured.
    pub warmups: u64,
    /// Repeat until the confidence interval of the median is at most so wide, relative to the median.
    pub until_stable: Option<Percent>,
    /// Repeat for so long at least; with `until_stable` for so long at most.
    pub duration: Option<Duration>,
    /// Runs at a time.
    pub concurrent_runs: NonZeroUsize,
    /// Threads within one operator; the engine's choice when there is none.
    pub engine_threads: Option<NonZeroUsize>,
}

/// A part of a hundred: more than 0, at most 100.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

/// Where results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The directory of all runs.
    pub directory: PathBuf,
    /// The run's name in it, a relative path without `..`; date and time when there is none.
    pub run_name: Option<PathBuf>,
    /// How the model's outputs are written.
    pub format: OutputFormat,
}

/// How the model's outputs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
#[value(rename_all = "UPPER")]
#[allow(missing_docs)]
pub enum OutputFormat {
    Npy,
    #[default]
    Bin,
    Txt,
}

/// What captures the runs: one thing at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstrumentChoice {
    /// Nothing: the times are as undisturbed as they can be.
    None,
    /// `--profiler`.
    Profiler(Profiler),
    /// `--dump`: every output of every operator of the graph, as npy files, or what the options beside it choose.
    Dump(Box<DumpArguments>),
    /// `--acl-json-path`: whatever that file asks for, to the directories that it names.
    AclJson {
        /// The file.
        path: PathBuf,
        /// `--check`: compare the file with the model and do not run.
        check_only: bool,
        /// The memory for records, if the file asks for a profile, of which only the raw recording is then written.
        memory: RecordMemory,
    },
}

/// A profile by `--profiler`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profiler {
    /// What is recorded.
    pub switches: ProfilerSwitches,
    /// The memory for records.
    pub memory: RecordMemory,
    /// Whether only the raw recording is written, without the timeline and the tables.
    pub raw_only: bool,
}

/// A place where a debugger can attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugServer {
    /// The socket; where there is none, the one that the number of the process leads to.
    pub path: Option<PathBuf>,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reporting {
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
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// What to do.
    pub request: BenchmarkRequest,
    /// What was ignored or means something else here.
    pub notes: Vec<Note>,
}

/// What a user should know of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// How important it is.
    pub kind: NoteKind,
    /// The option or the environment variable, with its value where that matters.
    pub option: String,
    /// The note, without the option.
    pub text: &'static str,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.option, self.text)
    }
}

/// How important a note is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// The option has no effect here, or another one than in the tool it comes from; the result is what was asked for.
    Note,
    /// Something that was asked for does not happen.
    Warning,
}
