//! A session of the program, and what runs beside it: the same model, by the same library, with the same options.

mod beside;
mod capture;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf, absolute};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use opscope_debug::{
    AttachOptions, Attachment, BreakpointSpec, Capture, CaptureKind, CaptureNote, Captures, DebugError, Debugger,
    EventKind, LoadedModelHandle, Queue, Resume,
};
use opscope_dump::DumpError;
use opscope_engine_onnxruntime::{Library, LibraryError, OnnxRuntimeEngine, ProgramOptions, Refusal};
use opscope_model::{DeviceTensors, Engine, EngineError, Fidelity, check_inputs, resized_inputs};
use opscope_onnx::{Graph, OnnxError, ValueId};
use opscope_profile::ProfileError;
use opscope_sys::{Mutex, yield_processors};
use opscope_tensor::{ScanQuery, ScanResult, Tensor, TensorView};
use opscope_text::counted;

use self::capture::Place;
use crate::debug_server;
use crate::messages::say;
use crate::model::Model;
use crate::requested;
use crate::variables::wanted;

/// Where the program's model comes from.
pub enum ModelSource {
    /// A file.
    File(PathBuf),
    /// Memory.
    Memory {
        /// The file's bytes.
        bytes: Vec<u8>,
        /// The directory of its external data; `None` for the working directory.
        directory: Option<PathBuf>,
    },
}

/// A session of the program.
pub struct Observed {
    /// The model as messages name it.
    name: String,
    graph: Arc<Graph>,
    library: Arc<Library>,
    options: ProgramOptions,
    threads: NonZeroUsize,
    /// The model with taps, loaded when it is first needed.
    exact: OnceLock<Result<Model, EngineError>>,
    /// Whether there is a profile or a dump to be made.
    has_to_capture: AtomicBool,
    /// The lines about it so far.
    said: Mutex<BTreeSet<String>>,
    /// Shows the model to debuggers.
    _shown: Option<LoadedModelHandle>,
}

impl Observed {
    /// Reads the model of a session, which the library has just created.
    ///
    /// # Errors
    /// Returns an error if the model cannot be read.
    pub fn new(
        source: ModelSource,
        library: Arc<Library>,
        options: ProgramOptions,
        threads: NonZeroUsize,
    ) -> Result<Self, OnnxError> {
        let (name, graph) = match source {
            // The program may change its working directory before external data is read.
            ModelSource::File(path) => {
                (path.display().to_string(), Graph::load(&absolute(&path).unwrap_or_else(|_| path.clone())))
            }
            ModelSource::Memory { bytes, directory } => {
                let path = directory.unwrap_or_default().join("(memory)");
                ("(memory)".to_owned(), Graph::from_bytes(&absolute(&path).unwrap_or(path), bytes.into()))
            }
        };
        let graph = Arc::new(graph?);
        let capabilities =
            OnnxRuntimeEngine::beside_program(Arc::clone(&library), options.clone()).capabilities(Fidelity::Exact);
        let wanted = wanted();
        Ok(Self {
            _shown: debug_server::show(&graph, capabilities),
            has_to_capture: AtomicBool::new(wanted.profile.is_some() || wanted.dump.is_some()),
            name,
            graph,
            library,
            options,
            threads,
            exact: OnceLock::new(),
            said: Mutex::default(),
        })
    }

    /// Returns the program's library.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// Returns whether the session has threads beside the program's own.
    pub fn has_threads(&self) -> bool {
        self.threads > NonZeroUsize::MIN
    }

    /// Returns the names of the model's inputs.
    pub fn input_names(&self) -> Vec<&str> {
        self.names(&self.graph.inputs)
    }

    /// Returns the names of the model's outputs.
    pub fn output_names(&self) -> Vec<&str> {
        self.names(&self.graph.outputs)
    }

    fn names(&self, values: &[ValueId]) -> Vec<&str> {
        values.iter().map(|&value| self.graph.value(value).name.as_str()).collect()
    }

    /// Writes a line about the session to stderr, once.
    pub fn say_once(&self, what: impl Display) {
        let what = what.to_string();
        if self.said.lock().insert(what.clone()) {
            say(format_args!("the session of '{}': {what}", self.name));
        }
    }

    /// Returns whether there is a profile or a dump to be made.
    pub fn has_to_capture(&self) -> bool {
        self.has_to_capture.load(Ordering::Relaxed)
    }

    /// Makes the profile and the dump that are asked for, unless another thread does. Inputs that do not fit the model
    /// are left to the program's own run, which describes the error.
    pub fn capture(&self, inputs: &[Tensor]) {
        if !self.fits(inputs) || !self.has_to_capture.swap(false, Ordering::Relaxed) {
            return;
        }
        let wanted = wanted();
        if let Some(directory) = &wanted.profile {
            match self.profile(&Place::Below(directory), inputs) {
                Ok(path) => self.say_once(format_args!("its profile is in {}", path.display())),
                Err(reason) => self.say_once(format_args!("it has no profile: {reason}")),
            }
        }
        if let Some(directory) = &wanted.dump {
            match self.dump(&Place::Below(directory), inputs) {
                Ok(path) => self.say_once(format_args!("its dump is in {}", path.display())),
                Err(reason) => self.say_once(format_args!("it has no dump: {reason}")),
            }
        }
    }

    fn fits(&self, inputs: &[Tensor]) -> bool {
        check_inputs(&self.graph, inputs).is_ok() && resized_inputs(&self.graph, inputs).next().is_none()
    }

    /// Begins what commands ask for. It is made on another thread, which leaves the processors to the program
    /// and for which the program's end waits.
    pub fn capture_requested(self: &Arc<Self>, inputs: &[Tensor]) {
        if !self.fits(inputs) {
            return;
        }
        while let Some(capture) = debug_server::requested().and_then(Captures::take) {
            let (observed, inputs, wanted) = (Arc::clone(self), inputs.to_vec(), capture.clone());
            // The program may release its environment meanwhile. It has one now, because it runs a session.
            let environment = self.library.hold_environment();
            let work = move || {
                observed.capture_now(&wanted, &inputs);
                drop((inputs, observed, environment));
            };
            if let Err(error) = beside::start(work) {
                let error = Some(format!("no thread can be started for it: {error}"));
                requested::tell(&capture, &CaptureNote { model: self.name.clone(), error });
            }
        }
    }

    fn capture_now(&self, capture: &Capture, inputs: &[Tensor]) {
        yield_processors();
        let place = Place::At(&capture.directory);
        let make = || match capture.capture {
            CaptureKind::Profile => self.profile(&place, inputs),
            CaptureKind::Dump | CaptureKind::Nothing => self.dump(&place, inputs),
        };
        let error = match catch_unwind(AssertUnwindSafe(make)) {
            Ok(made) => made.err().map(|reason| reason.to_string()),
            Err(_) => Some("it was ended by a fault of opscope; the program continues".to_owned()),
        };
        requested::tell(capture, &CaptureNote { model: self.name.clone(), error });
    }

    /// Runs once with a debugger. Returns `None` if the model cannot run with one, which a line says.
    pub fn debug(&self, inputs: &[Tensor], debugger: &Debugger) -> Option<Result<Box<dyn DeviceTensors>, EngineError>> {
        match self.exact() {
            // Inputs that do not fit are the program's error, which its own session describes.
            Ok(model) if model.plan(inputs).is_err() => None,
            Ok(model) => Some(model.run(inputs, debugger)),
            Err(reason) => {
                self.say_once(format_args!("its runs cannot be debugged: {reason}"));
                None
            }
        }
    }

    /// Returns the model with taps.
    fn exact(&self) -> Result<&Model, &EngineError> {
        self.exact.get_or_init(|| self.load(Fidelity::Exact)).as_ref()
    }

    fn load(&self, fidelity: Fidelity) -> Result<Model, EngineError> {
        let engine = OnnxRuntimeEngine::beside_program(Arc::clone(&self.library), self.options.clone());
        let model = Model::load(engine, &self.graph, fidelity, self.threads);
        beside::protect();
        model
    }

    /// Returns the name that directories of the model have: that of its file.
    fn stem(&self) -> &str {
        let stem = Path::new(&self.name).file_stem().and_then(|stem| stem.to_str());
        stem.filter(|stem| *stem != "(memory)").unwrap_or("model")
    }
}

/// Why a session is not looked at, or what ran beside it failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("its library is not known")]
    UnknownLibrary,
    #[error("it has no environment")]
    NoEnvironment,
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Options(#[from] Refusal),
    #[error(transparent)]
    Graph(#[from] OnnxError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    NoDebugger(#[from] io::Error),
    #[error(transparent)]
    Debugger(#[from] DebugError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Dump(#[from] DumpError),
    #[error("{} could not be exported: {source}", path.display())]
    Export { path: PathBuf, source: ProfileError },
    #[error("{} cannot be made: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
    #[error("{} has {most} directories of the name '{name}'", path.display())]
    NoName { path: PathBuf, most: u32, name: String },
    #[error("{source}; what was captured until then is in {}", path.display())]
    Interrupted { source: EngineError, path: PathBuf },
    #[error("{} missing from {}", counted(*missing, "tensor"), path.display())]
    Missing { missing: usize, path: PathBuf },
}

/// Returns whether a tensor has NaN or infinite elements.
pub fn has_non_finite(view: &TensorView<'_>) -> bool {
    ScanResult::of(view, ScanQuery::NON_FINITE).is_ok_and(|found| found.nan + found.infinite > 0)
}

impl Observed {
    /// Runs once more and returns the operator that computes the first NaN or infinity from finite inputs, or why it is
    /// not known.
    pub fn first_non_finite(&self, inputs: &[Tensor]) -> String {
        self.search(inputs).unwrap_or_else(|error| format!("the operator is not known: {error}"))
    }

    fn search(&self, inputs: &[Tensor]) -> Result<String, Failure> {
        let model = self.exact().map_err(Clone::clone)?;
        let debugger = Debugger::new()?;
        let options = AttachOptions { name: "libopscope_ort".to_owned(), ..AttachOptions::default() };
        let client = Arc::new(debugger.attach(options)?);
        let place = BreakpointSpec::at("first nonfinite".parse().map_err(DebugError::Target)?);
        client.add_breakpoint(place)?;
        let found: Arc<Mutex<Option<String>>> = Arc::default();
        let (noted, events) = (Arc::clone(&found), Arc::downgrade(&client));
        let notify = Box::new(move || acknowledge(&events, &noted));
        client.set_notification_callback(Some(notify))?;
        let outcome = model.run(inputs, &debugger);
        let _ = client.detach();
        let found = found.lock().take();
        match (found, outcome) {
            (Some(place), _) => Ok(place),
            (None, Ok(_)) => Ok("no operator computes it from finite inputs".to_owned()),
            (None, Err(error)) => Err(error.into()),
        }
    }
}

/// Reads and acknowledges the events of a run. Ends the run once the operator is found.
fn acknowledge(client: &Weak<Attachment>, found: &Mutex<Option<String>>) {
    let Some(client) = client.upgrade() else { return };
    while let Ok(Some(event)) = client.next_event(Queue::Sync) {
        let resume = match &event.kind {
            EventKind::Exception { .. } => {
                *found.lock() = Some(event.to_string());
                Resume::Abort("the operator is found".to_owned())
            }
            _ => Resume::Continue,
        };
        let _ = client.acknowledge(event.sequence, resume);
    }
}
