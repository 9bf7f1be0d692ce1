//! Sessions of a program that debuggers attach to while it runs.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Once, OnceLock};

use opscope::Session;
use opscope::debug::server::{Listen, Server, ServerOptions};
use opscope::debug::{Capture, CaptureKind, CaptureNote, Captures, Debugger, LoadedModelHandle};
use opscope::engine::{EngineName, EngineSpec};
use opscope::files::replace_whole;
use opscope::model::{Engine, EngineError, Fidelity, LoadOptions};
use opscope::onnx::Graph;
use opscope_sys::{Mutex, yield_processors};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::failure::Failure;
use crate::inputs;
use crate::tensor::{TensorObject, outputs_in_place};

/// The debugger of a program's sessions of ONNX Runtime, and the server by which clients attach to it.
#[pyclass(module = "opscope", frozen)]
pub struct SessionServer {
    debugger: Debugger,
    captures: Arc<Captures>,
    /// The process that serves. A forked one has no thread that would.
    process: u32,
    server: Mutex<Option<Server>>,
    /// Whether the first model has waited for a client.
    waited: Once,
}

#[pymethods]
impl SessionServer {
    #[new]
    fn new() -> PyResult<Self> {
        let debugger = Debugger::with_log(|message| eprintln!("opscope: {message}")).map_err(Failure::debug)?;
        let captures = Arc::<Captures>::default();
        debugger.set_host(Arc::clone(&captures) as _);
        Ok(Self { debugger, captures, process: process::id(), server: Mutex::default(), waited: Once::new() })
    }

    /// Shows a session's model to clients until what this returns is dropped. The model is from `path`, or from `data`,
    /// whose file `path` names in messages. For the first model this waits for a client, if the environment says so.
    fn show(
        &self,
        py: Python<'_>,
        path: PathBuf,
        data: Option<PyBackedBytes>,
        threads: NonZeroUsize,
        library: Option<PathBuf>,
    ) -> PyResult<ServedSession> {
        let engine = EngineSpec { name: EngineName::OnnxRuntime, library, ..EngineSpec::default() };
        let shown = py.detach(|| {
            let engine = engine.open()?;
            let graph = Arc::new(match data {
                None => Graph::load(&path)?,
                Some(data) => Graph::from_bytes(&path, data.to_vec().into())?,
            });
            let capabilities = engine.capabilities(Fidelity::Exact);
            let shown = self.debugger.load(&graph, Fidelity::Exact).with_capabilities(capabilities);
            let is_there = self.server.lock().is_some();
            if is_there {
                self.waited.call_once(|| self.debugger.wait_for_debugger());
            }
            Ok::<_, Failure>(ServedSession {
                debugger: self.debugger.clone(),
                engine,
                graph,
                threads,
                exact: OnceLock::new(),
                _shown: shown,
            })
        });
        Ok(shown?)
    }

    /// Listens at this socket, or where the number of the process leads to, and prints how to attach, or why nobody can:
    /// the program continues then.
    #[pyo3(signature = (socket=None))]
    fn listen(&self, py: Python<'_>, socket: Option<PathBuf>) {
        let address = socket.as_ref().map_or_else(|| self.process.to_string(), |path| path.display().to_string());
        let listen = socket.map_or(Listen::ByProcess, Listen::At);
        eprintln!("opscope: attach with: opscope debug --attach {address}");
        match py.detach(|| self.debugger.listen(ServerOptions { listen })) {
            Ok(server) => *self.server.lock() = Some(server),
            Err(error) => eprintln!("opscope: no debugger can attach: {error}"),
        }
    }

    /// Whether a debugger is attached, or something waits for `take`. Each run of the program looks here.
    #[getter]
    fn is_wanted(&self) -> bool {
        self.process == process::id() && (self.captures.is_any() || self.debugger.is_attached())
    }

    /// Whether a debugger is attached.
    #[getter]
    fn is_attached(&self) -> bool {
        self.process == process::id() && self.debugger.is_attached()
    }

    /// The next dump or recording that a command wants of a session; `None` if there is none.
    fn take(&self) -> Option<SessionCapture> {
        self.captures.take().map(SessionCapture)
    }

    /// Stops the server. A client learns that the program is over.
    fn close(&self, py: Python<'_>) {
        if self.process == process::id() {
            let server = self.server.lock().take();
            py.detach(|| drop(server));
        }
    }
}

/// A session of the program, as debuggers see it.
#[pyclass(module = "opscope", frozen)]
pub struct ServedSession {
    debugger: Debugger,
    engine: Arc<dyn Engine>,
    graph: Arc<Graph>,
    threads: NonZeroUsize,
    /// The same model with every operator as the file has it, loaded when a debugger is first attached to a run.
    exact: OnceLock<Result<Session, EngineError>>,
    _shown: LoadedModelHandle,
}

impl ServedSession {
    fn exact(&self) -> Result<&Session, Failure> {
        let load = || {
            let options = LoadOptions::new(Fidelity::Exact, self.threads);
            Session::with_engine(Arc::clone(&self.engine), Arc::clone(&self.graph), &options)
        };
        self.exact.get_or_init(load).as_ref().map_err(Failure::engine)
    }
}

#[pymethods]
impl ServedSession {
    /// Runs once with the debugger, which may stop the run, and returns the outputs in the order of the model's. Returns
    /// `None` for inputs that do not fit: ONNX Runtime's own run describes the error.
    fn run(&self, py: Python<'_>, inputs: &Bound<'_, PyAny>) -> PyResult<Option<Vec<TensorObject>>> {
        let Ok(tensors) = inputs::tensors(&self.graph, inputs) else { return Ok(None) };
        let outputs = py.detach(|| {
            let session = self.exact()?;
            if session.plan(&tensors).is_err() {
                return Ok(None);
            }
            outputs_in_place(session.compute(&tensors, &[&self.debugger])?).map(Some)
        })?;
        let ids = &self.graph.outputs;
        let named = |outputs: Vec<_>| {
            let pairs = outputs.into_iter().zip(ids);
            pairs.map(|(tensor, &id)| TensorObject::named(tensor, &self.graph.value(id).name)).collect()
        };
        Ok(outputs.map(named))
    }
}

/// A dump or a recording that a command wants of a session.
#[pyclass(module = "opscope", frozen)]
pub struct SessionCapture(Capture);

#[pymethods]
impl SessionCapture {
    /// `dump` or `profile`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.capture {
            CaptureKind::Profile => "profile",
            CaptureKind::Dump | CaptureKind::Nothing => "dump",
        }
    }

    /// The directory that is to be made.
    #[getter]
    fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// Gives the calling thread, and those that it starts, the lowest priority.
    #[staticmethod]
    fn yield_processors() {
        yield_processors();
    }

    /// Tells the command what became of it: the session's model, and why there is no capture, or not all of it.
    fn tell(&self, model: String, error: Option<String>) {
        let note = CaptureNote { model, error };
        let written = serde_json::to_vec(&note).map_err(Into::into).and_then(|text| replace_whole(&self.0.note, &text));
        if let Err(error) = written {
            // The command may be gone, with the directory of its note.
            eprintln!("opscope: what became of {} cannot be told: {error}", self.0.directory.display());
        }
    }
}
