//! A program that a debugger may stop, and the server by which debuggers attach to it.

use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use opscope::debug::server::{Listen, ServeError, Server, ServerOptions};
use opscope::debug::{CodeFrame, Debugger, EvaluationError, Host, LoadedModelHandle};
use opscope::model::Fidelity;
use opscope_sys::Mutex;
use opscope_torch::{CAPABILITIES, Place, Stopped};
use pyo3::prelude::*;
use serde_json::Value;

use super::frames::{self, Frames};
use super::tensors::Want;
use super::{State, TorchTap};
use crate::border::released::released;
use crate::failure::{Failure, input};

/// A debugger, and the server by which clients attach to it. The programs that it stops come and go.
#[pyclass(module = "opscope", frozen)]
pub struct TorchServer {
    debugger: Debugger,
    host: Arc<PythonHost>,
    is_over: Arc<AtomicBool>,
    server: Mutex<Option<Server>>,
}

#[pymethods]
impl TorchServer {
    /// With `evaluates`, clients may evaluate expressions of Python where they have stopped the program.
    #[new]
    #[pyo3(signature = (*, evaluates=false))]
    fn new(evaluates: bool) -> PyResult<Self> {
        let is_over = Arc::new(AtomicBool::new(false));
        let was_over = Arc::clone(&is_over);
        let log = move |message: &str| {
            // That the client is detached in the end needs no words.
            if !was_over.load(Ordering::Relaxed) {
                eprintln!("opscope: {message}");
            }
        };
        let debugger = Debugger::with_log(log).map_err(Failure::debug)?;
        // Other threads of Python's go on while one waits for the debugger.
        debugger.set_around_waits(released);
        let host = Arc::new(PythonHost { messages: Mutex::default(), evaluates });
        debugger.set_host(Arc::clone(&host) as _);
        Ok(Self { debugger, host, is_over, server: Mutex::default() })
    }

    /// Calls `changed` when a debugger attaches, is gone, or begins to want something of the program, and `instrument`
    /// with the JSON of an instrument that the program is asked to attach, both on a thread of their own.
    fn set_callbacks(&self, changed: Py<PyAny>, instrument: Py<PyAny>) -> PyResult<()> {
        let (sender, receiver) = channel();
        thread::Builder::new()
            .name("opscope-attach".into())
            .spawn(move || receive(receiver, &changed, &instrument))
            .map_err(Failure::any)?;
        *self.host.messages.lock() = Some(sender);
        Ok(())
    }

    /// Whether a debugger is attached.
    #[getter]
    fn is_attached(&self) -> bool {
        self.debugger.is_attached()
    }

    /// Whether a debugger wants something of the program: a stop, or events of its steps and operators.
    #[getter]
    fn is_interested(&self) -> bool {
        self.debugger.is_interested()
    }

    /// Limits how long a client may stop the program, in seconds; `None` for no limit.
    #[pyo3(signature = (seconds))]
    fn set_longest_stop(&self, seconds: Option<f64>) -> PyResult<()> {
        let longest = seconds.map(Duration::try_from_secs_f64).transpose().map_err(Failure::input)?;
        self.debugger.set_longest_stop(longest);
        Ok(())
    }

    /// Listens at this socket, or where the number of the process leads to. With `stops`, a client is about to attach,
    /// and the first step stops before its first operator; otherwise this prints how to attach, unless it is `quiet`.
    #[pyo3(signature = (socket=None, *, stops=false, quiet=false))]
    fn listen(&self, py: Python<'_>, socket: Option<PathBuf>, stops: bool, quiet: bool) -> PyResult<()> {
        // Of several processes, such as the ranks of a launcher, the first one has the socket that was named.
        let is_of_another = |path: &PathBuf| path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket());
        let is_prompted = stops && !socket.as_ref().is_some_and(is_of_another);
        if is_prompted {
            self.debugger.stop_next_run();
        }
        let serve = |listen| py.detach(|| self.debugger.serve(ServerOptions { listen }));
        let (server, address) = match socket.map(|path| (serve(Listen::At(path.clone())), path)) {
            Some((Err(ServeError::Taken { .. }), path)) if is_of_another(&path) => (serve(Listen::ByProcess), None),
            Some((server, path)) => (server, Some(path)),
            None => (serve(Listen::ByProcess), None),
        };
        let server = server.map_err(Failure::debug)?;
        if !is_prompted && !quiet {
            let address = address.map_or_else(|| std::process::id().to_string(), |path| path.display().to_string());
            eprintln!("opscope: attach with: opscope debug --attach {address}");
        }
        *self.server.lock() = Some(server);
        Ok(())
    }

    /// Stops the server. A client learns that the program is over.
    fn close(&self, py: Python<'_>) {
        self.is_over.store(true, Ordering::Relaxed);
        let server = self.server.lock().take();
        py.detach(|| drop(server));
    }
}

/// The program, for its debugger.
struct PythonHost {
    /// The thread that tells Python what happens, because the thread of the server must not wait for Python.
    messages: Mutex<Option<Sender<Message>>>,
    /// Whether clients may evaluate expressions.
    evaluates: bool,
}

impl PythonHost {
    fn send(&self, message: Message) -> bool {
        self.messages.lock().as_ref().is_some_and(|messages| messages.send(message).is_ok())
    }
}

enum Message {
    Changed,
    Instrument(Value),
}

impl Host for PythonHost {
    fn attached(&self, _is_attached: bool) {
        self.send(Message::Changed);
    }

    fn interested(&self) {
        self.send(Message::Changed);
    }

    fn instrument(&self, wanted: &Value) -> bool {
        // What sessions of ONNX Runtime are asked for is nothing for a program of PyTorch's.
        wanted["what"].is_string() && self.send(Message::Instrument(wanted.clone()))
    }

    fn frames(&self) -> Vec<CodeFrame> {
        Python::attach(|py| Frames::new(py).and_then(|mut frames| frames.calls(py))).unwrap_or_default()
    }

    fn evaluate(&self, expression: &str) -> Result<String, EvaluationError> {
        if !self.evaluates {
            let how = "start it with OPSCOPE_TORCH=serve,eval, or by opscope torch debug --eval";
            return Err(EvaluationError(format!("this program evaluates nothing; {how}")));
        }
        Python::attach(|py| frames::evaluate(py, expression).map_err(|error| EvaluationError(error.to_string())))
    }
}

fn receive(messages: Receiver<Message>, changed: &Py<PyAny>, instrument: &Py<PyAny>) {
    for message in messages {
        Python::attach(|py| {
            let called = match message {
                Message::Changed => changed.call0(py),
                Message::Instrument(wanted) => instrument.call1(py, (wanted.to_string(),)),
            };
            if let Err(error) = called {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Asks the program with this process number, or at this socket, to attach the instrument that a JSON describes. Returns
/// the number of the process.
#[pyfunction]
pub fn instrument_program(py: Python<'_>, address: &str, wanted: &str) -> PyResult<u32> {
    let wanted: Value = serde_json::from_str(wanted).map_err(Failure::input)?;
    py.detach(|| {
        let client = opscope_cli::connect(address).map_err(|error| Failure::debug(format!("{error:#}")))?;
        client.instrument(wanted).map_err(Failure::debug)?;
        Ok(client.hello().pid)
    })
}

/// The debugger of a program.
pub struct ProgramDebugger {
    debugger: Debugger,
    /// Tells the client in the end that the program is over.
    _handle: LoadedModelHandle,
}

impl ProgramDebugger {
    /// Returns whether a client is attached.
    pub fn is_attached(&self) -> bool {
        self.debugger.is_attached()
    }
}

/// Lets the debugger of a server stop the program.
pub fn add(tap: &TorchTap, server: &TorchServer) -> PyResult<()> {
    let debugger = server.debugger.clone();
    let mut state = tap.lock();
    state.program.add(Arc::new(debugger.clone())).map_err(input)?;
    let handle = debugger.load(state.program.header(), Fidelity::Exact).with_capabilities(CAPABILITIES);
    state.debug = Some(ProgramDebugger { debugger, _handle: handle });
    tap.looks_before.store(true, Ordering::Relaxed);
    Ok(())
}

/// Returns what is wanted of what is computed at a place.
pub fn want(state: &mut State, place: &Place) -> Want {
    if state.program.wants_after(place) { Want::All } else { Want::Place }
}

/// The exception in a program that its debugger ends.
pub fn aborted(Stopped(reason): &Stopped) -> PyErr {
    Failure::debug(format!("the debugger ended the run: {reason}")).into()
}
