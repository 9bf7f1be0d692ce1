use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use opscope::Session;
use opscope::dump::{
    Answer, Contents, Delivery, DirectorySink, DumpError, DumpInfo, DumpReport, Dumper, InputEntry, IoSelection,
    Pattern, Piece, Request, Selection, Sink, StoredOrigin, Stream,
};
use opscope::model::{EngineError, Instrument, RunId, RunInfo};
use opscope::onnx::Graph;
use opscope::tensor::Tensor;
use opscope::text::counted;
use opscope_sys::Mutex;
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use super::texts;
use crate::failure::{Failure, input};
use crate::stored::Dump;
use crate::tensor::TensorObject;
use crate::waiting::{in_background, receive};

/// Returns what to capture, checked against the model.
pub fn selection(
    graph: &Graph,
    select: Option<&Bound<'_, PyAny>>,
    types: Option<&Bound<'_, PyAny>>,
    io: &str,
) -> PyResult<Selection> {
    let patterns = |given| -> PyResult<Vec<Pattern>> {
        texts(given)?.iter().map(|text| Ok(Pattern::parse(text).map_err(Failure::input)?)).collect()
    };
    let sides = IoSelection::ALL.into_iter().find(|sides| sides.name() == io);
    let io = sides.ok_or_else(|| input(format!("io is inputs, outputs or all, not '{io}'")))?;
    let selection = Selection { operators: patterns(select)?, op_types: patterns(types)?, io, ..Selection::default() };
    let problems = |problems: Vec<DumpError>| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        input(problems.join("\n"))
    };
    selection.check(graph, 1).map_err(problems)?;
    Ok(selection)
}

/// Runs once with a sink.
fn run(
    session: &Session,
    inputs: &[Tensor],
    sink: Box<dyn Sink>,
    request: Request,
) -> Result<(DumpReport, Option<EngineError>), Failure> {
    let plan = session.plan(inputs)?;
    let dumper = Dumper::new();
    session.check(&dumper).map_err(Failure::engine)?;
    dumper.subscribe(sink, request)?;
    dumper.add_plan(&**session.model(), &*plan)?;
    let (id, graph, fidelity) = (RunId(0), session.graph(), session.model().fidelity());
    dumper.set_inputs(id, InputEntry::of(graph, inputs));
    let info = RunInfo { id, graph, kernels: plan.kernels(), fidelity };
    let observer = session.observe(&info, &[&dumper as &dyn Instrument]);
    let outcome = plan.upload(inputs).and_then(|resident| plan.run(id, &*resident, &*observer));
    drop(observer);
    Ok((dumper.finish()?, outcome.err()))
}

/// Runs once and writes a directory.
pub fn write(
    py: Python<'_>,
    session: Arc<Session>,
    inputs: Vec<Tensor>,
    selection: Selection,
    directory: PathBuf,
    statistics_only: bool,
) -> PyResult<Dump> {
    in_background(py, None, move || {
        let engine = session.engine();
        let info = DumpInfo::new(session.graph(), session.model().fidelity(), engine.name(), engine.version());
        let contents = if statistics_only { Contents::Statistics } else { Contents::Tensors };
        let sink = DirectorySink::create(&directory, contents, &info)?;
        let (_, failure) = run(&session, &inputs, Box::new(sink), Request { selection, ..Request::default() })?;
        match failure {
            Some(error) => Err(Failure::engine(format!("{error}; what was captured until then is in {directory:?}"))),
            None => Dump::open(&directory),
        }
    })
}

/// The tensors of a run, during the run. The run waits for the iterator.
#[pyclass(module = "opscope", frozen)]
pub struct DumpStream {
    /// `None` when it is closed.
    messages: Mutex<Option<Receiver<Message>>>,
    ended: Mutex<Option<Ended>>,
}

enum Message {
    Tensor(Tensor, Box<StoredOrigin>),
    End(Result<DumpReport, Failure>),
}

/// How the run ended.
struct Ended {
    complete: bool,
    missing: Vec<String>,
}

impl DumpStream {
    /// Starts the run on a thread of its own.
    pub fn start(session: Arc<Session>, inputs: Vec<Tensor>, selection: Selection) -> Result<Self, Failure> {
        // One tensor waits here, one is being filled, and one belongs to the iterating thread.
        let (sender, messages) = bounded(1);
        let work = move || {
            let sink = Box::new(ToIterator { sender: sender.clone(), bytes: Vec::new() });
            let request = Request {
                selection,
                delivery: Some(Delivery::Direct),
                stops_run: true,
                inputs_in_flight: false,
                ..Request::default()
            };
            let end = run(&session, &inputs, sink, request).and_then(|(report, failure)| match failure {
                Some(error) => Err(error.into()),
                None => Ok(report),
            });
            // The receiver is gone if the iteration has ended.
            let _ = sender.send(Message::End(end));
        };
        let started = thread::Builder::new().name("opscope-dump".to_owned()).spawn(work);
        started.map_err(|error| Failure::any(format!("no thread can be started: {error}")))?;
        Ok(Self { messages: Mutex::new(Some(messages)), ended: Mutex::default() })
    }

    fn end(&self, py: Python<'_>, end: Result<DumpReport, Failure>) -> PyResult<()> {
        self.close();
        let report = end?;
        let missing: Vec<String> = report
            .subscriptions
            .iter()
            .flat_map(|subscription| {
                let named =
                    subscription.losses.named().iter().map(|missing| format!("{}: {}", missing.origin, missing.reason));
                named.chain(subscription.errors.iter().cloned())
            })
            .collect();
        let complete = report.is_complete();
        if let Some(first) = missing.first() {
            let text =
                format!("the dump is not complete: {} missing; the first is {first}", counted(missing.len(), "tensor"));
            let text = std::ffi::CString::new(text).unwrap_or_default();
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
        }
        *self.ended.lock() = Some(Ended { complete, missing });
        Ok(())
    }
}

#[pymethods]
impl DumpStream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<TensorObject>> {
        let messages = self.messages.lock().clone();
        let Some(messages) = messages else { return Ok(None) };
        match receive(py, &messages)? {
            Some(Message::Tensor(tensor, place)) => Ok(Some(TensorObject::new(tensor, *place))),
            Some(Message::End(end)) => self.end(py, end).map(|()| None),
            None => {
                self.close();
                Ok(None)
            }
        }
    }

    /// Ends the run at its next tensor.
    fn close(&self) {
        self.messages.lock().take();
    }

    fn __enter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _error: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Whether every tensor that was selected came; `None` before the end.
    #[getter]
    fn complete(&self) -> Option<bool> {
        self.ended.lock().as_ref().map(|ended| ended.complete)
    }

    /// The tensors that were selected and did not come, a sentence each; empty before the end.
    #[getter]
    fn missing(&self) -> Vec<String> {
        let ended = self.ended.lock();
        ended.as_ref().map(|ended| ended.missing.clone()).unwrap_or_default()
    }
}

/// Passes whole tensors to the iterator.
struct ToIterator {
    sender: Sender<Message>,
    bytes: Vec<u8>,
}

impl Sink for ToIterator {
    fn delivery(&self) -> Delivery {
        Delivery::Direct
    }

    fn begin(&mut self, stream: &Stream) -> Answer {
        self.bytes = Vec::new();
        match self.bytes.try_reserve_exact(usize::try_from(stream.bytes).unwrap_or(usize::MAX)) {
            Ok(()) => Answer::Continue,
            Err(_) => Answer::Stop(format!("there is no memory for a tensor of {} bytes", stream.bytes)),
        }
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        self.bytes.extend_from_slice(piece.bytes);
        if !piece.last {
            return Answer::Continue;
        }
        let bytes = Arc::new(std::mem::take(&mut self.bytes));
        let tensor = match Tensor::from_owner(stream.dtype, stream.shape.clone(), bytes) {
            Ok(tensor) => tensor,
            Err(error) => return Answer::Stop(error.to_string()),
        };
        match self.sender.send(Message::Tensor(tensor, Box::new(StoredOrigin::of(&stream.origin)))) {
            Ok(()) => Answer::Continue,
            Err(_) => Answer::Stop("the iteration over the dump was ended".to_owned()),
        }
    }
}
