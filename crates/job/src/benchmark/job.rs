//! What one benchmark has to do. Nothing here runs anything.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError, local_time};
use opscope_debug::Debugger;
use opscope_dump::{DumpFormat, Request};
use opscope_model::{Fidelity, LoadBudget, LoadOptions};
use opscope_onnx::Graph;
use opscope_profile::{Format, ProfilerOptions, TimelineRuns};

use crate::inputs::{Data, InputSpec, Inputs, ShapeSpec};
use crate::verify::VerifyOptions;

/// One call of `opscope benchmark`: what to run, how often, what to capture, and where results go.
#[derive(Debug, Clone)]
pub struct Job {
    /// The ONNX file.
    pub model: PathBuf,
    /// The model's inputs.
    pub inputs: InputSpec,
    /// The shapes of its inputs: one set, or several for a table.
    pub shapes: Vec<ShapeSpec>,
    /// How often the model runs.
    pub repetition: Repetition,
    /// The engine that runs it.
    pub engine: EngineSpec,
    /// Threads within an operator.
    pub engine_threads: NonZeroUsize,
    /// The time and memory that loading the model may take.
    pub load_budget: LoadBudget,
    /// Samples per run, for the throughput. `None` means the first dimension of the first input.
    pub batch_size: Option<u64>,
    /// Where the outputs and the summary go. `None` means that they are not written.
    pub output: Option<OutputSpec>,
    /// The axis along which outputs are split into one file per input file.
    pub output_batch_axis: usize,
    /// The run's name: a relative path.
    pub run_name: PathBuf,
    /// What happens if a run of this name exists.
    pub taken: TakenName,
    /// Whether the optimised plan is compared with the exact one before it is timed.
    pub verify: VerifyOptions,
    /// What captures the runs.
    pub capture: CaptureSpec,
    /// Whether a few runs with a profiler follow the measured ones, to show what operators take, if nothing captures
    /// the measured runs.
    pub profile_beside: bool,
    /// A debugger that a client may attach to while the model runs.
    pub debugger: Option<Debugger>,
    /// Whether captured data must survive if the process dies. Records then wait in a file, and a run waits until each
    /// tensor is written, unless the request has a delivery of its own.
    pub survives_crash: bool,
    /// The command line, for the summary.
    pub arguments: Vec<String>,
    /// The options with which another command generates the same inputs and runs the model with the same engine. The
    /// report adds the options for files and shapes.
    pub same_options: Vec<String>,
}

impl Job {
    /// Creates a job that runs a model once, after one warm-up, with zeros as inputs, and captures and writes nothing.
    /// Its name is the local date and time, such as `2026_01_31-14_05_59`.
    pub fn new(model: impl Into<PathBuf>) -> Self {
        let model = model.into();
        Self {
            same_options: Vec::new(),
            model,
            inputs: InputSpec::Generated(Data::Zero),
            shapes: vec![ShapeSpec::Smallest],
            repetition: Repetition::default(),
            engine: EngineSpec::default(),
            engine_threads: NonZeroUsize::MIN,
            load_budget: LoadBudget::default(),
            batch_size: None,
            output: None,
            output_batch_axis: 0,
            run_name: local_time().format("%Y_%m_%d-%H_%M_%S").to_string().into(),
            taken: TakenName::default(),
            verify: VerifyOptions::default(),
            capture: CaptureSpec::Nothing,
            profile_beside: false,
            debugger: None,
            survives_crash: false,
            arguments: Vec::new(),
        }
    }

    /// Returns the fidelity at which the model runs: exact for a dump, optimised otherwise.
    pub fn fidelity(&self) -> Fidelity {
        match self.capture {
            CaptureSpec::Dump { .. } => Fidelity::Exact,
            CaptureSpec::Nothing | CaptureSpec::Profile { .. } => Fidelity::Optimised,
        }
    }

    /// Loads the model into the engine.
    ///
    /// # Errors
    /// Returns an error if there is no such engine, or if it cannot load the model.
    pub fn load(&self) -> Result<Session, SessionError> {
        Session::open_with(self.engine.open()?, &self.model, &self.load_options())
    }

    /// Loads a graph, which was read from the model's file, into the engine.
    ///
    /// # Errors
    /// Returns an error if there is no such engine, or if it cannot load the model.
    pub fn load_graph(&self, graph: Arc<Graph>) -> Result<Session, SessionError> {
        Ok(Session::with_engine(self.engine.open()?, graph, &self.load_options())?)
    }

    /// Returns the options for loading the model.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions { budget: self.load_budget, ..LoadOptions::new(self.fidelity(), self.engine_threads) }
    }

    /// Sets what captures the runs. A dump has no warm-up runs, because they would be dumped, too, and because its
    /// times mean nothing.
    pub fn set_capture(&mut self, capture: CaptureSpec) {
        if let CaptureSpec::Dump { .. } = capture {
            (self.repetition.warmups, self.repetition.warm_up) = (0, Duration::ZERO);
        }
        self.capture = capture;
    }
}

/// How often a model runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Repetition {
    /// How many times all inputs are run. With `until_stable` or `duration` this is the least number.
    pub loops: u64,
    /// The number of warm-up runs, which come first and are not measured.
    pub warmups: u64,
    /// Warm-up runs are repeated for at least this time.
    pub warm_up: Duration,
    /// Repeat until the 95 % confidence interval of the median is at most this wide, in percent of the median.
    pub until_stable: Option<f64>,
    /// Repeat for at least this time. With `until_stable`, repeat for at most this time.
    pub duration: Option<Duration>,
    /// The number of concurrent runs.
    pub concurrent: NonZeroUsize,
}

impl Default for Repetition {
    /// Returns one run after one warm-up run.
    fn default() -> Self {
        Self {
            loops: 1,
            warmups: 1,
            warm_up: Duration::ZERO,
            until_stable: None,
            duration: None,
            concurrent: NonZeroUsize::MIN,
        }
    }
}

/// What captures the runs of a job. It is one instrument at a time, because a dump lengthens the times that a profile
/// shows.
#[derive(Debug, Clone)]
pub enum CaptureSpec {
    /// Nothing, so that the times are as undisturbed as possible.
    Nothing,
    /// A profiler, which leaves a recording.
    Profile {
        /// The directory of the recording, which must not exist.
        directory: PathBuf,
        /// What is recorded.
        options: Box<ProfilerOptions>,
        /// The formats that the recording is exported to when it is closed.
        exports: Vec<Format>,
        /// Which runs the exported timelines show.
        timeline_runs: TimelineRuns,
    },
    /// A dumper, which leaves a dump. The model then runs at exact fidelity.
    Dump {
        /// The directory of the dump, which must not exist.
        directory: PathBuf,
        /// Which tensors, and how they get into the files.
        request: Box<Request>,
        /// The format of the files.
        format: &'static DumpFormat,
        /// Whether the elements of every tensor are also counted by powers of two.
        histograms: bool,
    },
}

impl CaptureSpec {
    /// The directory that the captured data goes to.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Nothing => None,
            Self::Profile { directory, .. } | Self::Dump { directory, .. } => Some(directory),
        }
    }
}

/// Where the outputs and the summary of a job go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputSpec {
    /// The directory of all runs.
    pub directory: PathBuf,
    /// How the model's outputs are written.
    pub format: OutputFormat,
    /// What their files are named after.
    pub names: OutputNames,
}

/// What the files of outputs are named after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputNames {
    /// The output: `probabilities.npy`. With several runs or samples, a directory of that name has a file for each of
    /// them, named after the file of the first input.
    #[default]
    OfOutputs,
    /// The file of the first input, and the output's number, as with `ait benchmark`: `cat_0.npy`. Without input files
    /// it is `pure_infer_data_0.npy`.
    OfInputFiles,
}

/// How the model's outputs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// numpy's format, with type and shape.
    #[default]
    Npy,
    /// The bytes alone.
    Bin,
    /// Numbers as text, with a line for each row of the last dimension.
    Txt,
}

impl OutputFormat {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Npy, Self::Bin, Self::Txt];

    /// Returns `NPY`, `BIN` or `TXT`, as on the command line of `ait benchmark`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "NPY",
            Self::Bin => "BIN",
            Self::Txt => "TXT",
        }
    }
}

/// What happens if a run with the job's name exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TakenName {
    /// The new run gets the name with a number, such as `first-2`.
    #[default]
    Number,
    /// It is an error.
    Refuse,
    /// The new run replaces the old one when it is complete. Only files that a run wrote are removed.
    Replace,
}

/// How the caller of a job follows its progress, and cancels it.
#[derive(Clone, Copy)]
pub struct JobHooks<'a> {
    /// Set by the caller to end the job early. What was measured until then is reported.
    pub cancel: &'a Arc<AtomicBool>,
    /// Called when a stage begins.
    pub stage: &'a (dyn Fn(Stage) + Sync),
    /// Called with the inputs before the first run: those of the first set in a table of shapes.
    pub fed: &'a (dyn Fn(&Inputs, &Graph) + Sync),
    /// Called after every run with the number of runs so far.
    pub advanced: &'a (dyn Fn(u64, Goal) + Sync),
    /// Called once with the bytes that the recording will take without its exports, as soon as the first runs show it.
    /// Never called if the number of runs is open.
    pub expects: &'a (dyn Fn(u64) + Sync),
}

/// The goal at which a measurement ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// This number of runs.
    Runs(u64),
    /// A duration.
    Time {
        /// The part that has passed.
        passed: Duration,
        /// The whole duration.
        all: Duration,
    },
    /// A median with a narrow confidence interval.
    Stable {
        /// The width of the interval in percent of the median, or `None` before it is first computed.
        width: Option<f64>,
        /// The width at which the measurement ends.
        wanted: f64,
        /// The time that has passed.
        passed: Duration,
        /// The time after which the measurement ends in any case.
        most: Duration,
    },
}

impl Default for JobHooks<'_> {
    /// Hooks that do nothing and never cancel.
    fn default() -> Self {
        static NEVER: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
        Self { cancel: &NEVER, stage: &|_| (), fed: &|_, _| (), advanced: &|_, _| (), expects: &|_| () }
    }
}

/// What a job is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Reads the file and loads the model into the engine.
    Loading,
    /// Compares the optimised plan with the exact one.
    Verifying,
    /// Makes a plan for the shapes of the inputs.
    Planning,
    /// Runs the model.
    Running,
    /// Closes the recording or the dump.
    Closing,
    /// Exports the recording.
    Exporting,
}

impl Stage {
    /// Returns whether ending the job here loses nothing, because there are no results yet.
    pub fn has_no_results(self) -> bool {
        self < Stage::Running
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Stage::Loading => "loading the model",
            Stage::Verifying => "comparing the optimised plan with the exact one",
            Stage::Planning => "planning for the shapes of the inputs",
            Stage::Running => "running",
            Stage::Closing => "closing",
            Stage::Exporting => "exporting the profile",
        })
    }
}
