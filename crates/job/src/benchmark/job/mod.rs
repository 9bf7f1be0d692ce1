//! What one benchmark has to do. Nothing here runs anything.

mod capture_spec;
mod hooks;
mod output_spec;
mod repetition;
mod stage;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError, local_time};
use opscope_debug::Debugger;
use opscope_model::{Fidelity, LoadBudget, LoadOptions};
use opscope_onnx::Graph;

pub use capture_spec::CaptureSpec;
pub use hooks::{Goal, JobHooks};
pub use output_spec::{OutputFormat, OutputNames, OutputSpec, TakenName};
pub use repetition::Repetition;
pub use stage::Stage;

use crate::inputs::{Data, InputSpec, ShapeSpec};
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
