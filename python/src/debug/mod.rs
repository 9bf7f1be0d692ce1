//! The debugger of one run: it stops at operators, shows and replaces tensors, and lets the run continue. In `served`, the
//! debugger of a program's own sessions, to which clients attach.

mod served;
mod stop;

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use opscope::Session;
use opscope::debug::{
    AttachOptions, Attachment, BreakpointSpec, Debugger, LoadedModelHandle, Moment, Queue, Resume, Sequence, StopCause,
    Target,
};
use opscope::model::DeviceTensors;
use opscope::tensor::Tensor;
use opscope_sys::Mutex;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use self::served::{ServedSession, SessionCapture, SessionServer};
pub use self::stop::{Slots, Stop};
use crate::failure::{Failure, input};
use crate::inputs;
use crate::tensor::{TensorObject, outputs_in_place};
use crate::waiting::receive;

/// How long a stopped run waits for its debugger: in practice, without a limit.
const LEASE: Duration = Duration::from_secs(365 * 24 * 3600);

/// A debugger of one run of a model. It is a context manager: at its end the run is aborted if it is not over.
#[pyclass(module = "opscope", frozen)]
pub struct DebugSession {
    session: Arc<Session>,
    inputs: Vec<Tensor>,
    wakes: Receiver<Wake>,
    waker: Sender<Wake>,
    state: Mutex<State>,
    attached: Mutex<Option<Attached>>,
}

/// What exists while the context is entered.
struct Attached {
    client: Arc<Attachment>,
    debugger: Debugger,
    /// Keeps the model known to the debugger, so that breakpoints can be set before the run.
    _model: LoadedModelHandle,
}

#[derive(Default)]
enum State {
    NotStarted,
    /// Another Python thread is about to change the state. No lock is held while a thread waits for the interpreter.
    #[default]
    Busy,
    Running(JoinHandle<()>),
    Stopped(JoinHandle<()>, Sequence),
    Ended(Vec<Tensor>),
    Failed,
}

/// Why a wait ends.
enum Wake {
    /// There may be events.
    Event,
    /// The run is over.
    End(Result<Box<dyn DeviceTensors>, Failure>),
}

impl DebugSession {
    pub fn new(session: Arc<Session>, inputs: Vec<Tensor>) -> Result<Self, Failure> {
        let debugger =
            Debugger::new().map_err(|error| Failure::debug(format!("the debugger cannot be made: {error}")))?;
        session.check(&debugger).map_err(Failure::engine)?;
        // One place is for the end of the run, the other for a notification.
        let (waker, wakes) = bounded(2);
        Ok(Self { session, inputs, wakes, waker, state: Mutex::new(State::NotStarted), attached: Mutex::default() })
    }

    fn client(&self) -> PyResult<Arc<Attachment>> {
        let attached = self.attached.lock();
        let client = attached.as_ref().map(|attached| Arc::clone(&attached.client));
        client.ok_or_else(|| {
            PyRuntimeError::new_err("the debugger is used within its block: with model.debug(inputs) as d: ...")
        })
    }

    /// Continues the stopped run and waits for its next stop, or its end.
    fn resume_with(&self, py: Python<'_>, resume: Resume) -> PyResult<Option<Stop>> {
        let client = self.client()?;
        let (thread, event) = self.take_stopped()?;
        let acknowledged = py.detach(|| client.acknowledge(event, resume));
        *self.state.lock() = match acknowledged {
            Ok(()) => State::Running(thread),
            Err(_) => State::Stopped(thread, event),
        };
        acknowledged.map_err(Failure::from)?;
        self.wait(py)
    }

    fn take_stopped(&self) -> Result<(JoinHandle<()>, Sequence), Failure> {
        let mut state = self.state.lock();
        match std::mem::take(&mut *state) {
            State::Stopped(thread, event) => Ok((thread, event)),
            other => {
                let why = match &other {
                    State::NotStarted => "the run has not begun; call run() first",
                    State::Busy | State::Running(_) => "the run is not stopped",
                    State::Stopped(..) | State::Ended(_) | State::Failed => "the run is over; run() starts it again",
                };
                *state = other;
                Err(Failure::debug(why))
            }
        }
    }

    /// Waits until the run stops or ends.
    fn wait(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        let client = self.client()?;
        loop {
            match receive(py, &self.wakes)? {
                Some(Wake::Event) => {
                    if let Some(stop) = self.take_stop(py, &client)? {
                        return Ok(Some(stop));
                    }
                }
                Some(Wake::End(end)) => return self.end(py, end).map(|()| None),
                None => return Ok(None),
            }
        }
    }

    /// Reads events until one of them stops the run. The others only announce something.
    fn take_stop(&self, py: Python<'_>, client: &Arc<Attachment>) -> PyResult<Option<Stop>> {
        while let Some(event) = py.detach(|| client.next_event(Queue::Sync)).map_err(Failure::from)? {
            if event.kind.stop_cause() == Some(StopCause::Request) && event.waiting {
                let stop = Stop::at(py, client, &event)?;
                let mut state = self.state.lock();
                if let State::Running(thread) = std::mem::take(&mut *state) {
                    *state = State::Stopped(thread, event.sequence);
                }
                return Ok(Some(stop));
            }
            py.detach(|| client.acknowledge(event.sequence, Resume::Continue)).map_err(Failure::from)?;
        }
        Ok(None)
    }

    fn end(&self, py: Python<'_>, end: Result<Box<dyn DeviceTensors>, Failure>) -> PyResult<()> {
        let earlier = std::mem::replace(&mut *self.state.lock(), State::Failed);
        if let State::Running(thread) | State::Stopped(thread, _) = earlier {
            // It has sent its last message.
            let _ = py.detach(|| thread.join());
        }
        let outputs = outputs_in_place(end?)?;
        *self.state.lock() = State::Ended(outputs);
        Ok(())
    }

    /// Aborts the run, wherever it is, and waits for its end.
    fn abort_run(&self, py: Python<'_>) -> PyResult<()> {
        let client = self.client()?;
        loop {
            let stopped = match &*self.state.lock() {
                State::Stopped(_, event) => Some(*event),
                State::Running(_) => None,
                State::NotStarted | State::Busy | State::Ended(_) | State::Failed => return Ok(()),
            };
            match stopped {
                Some(event) => {
                    let abort = Resume::Abort("the debugger was left".to_owned());
                    py.detach(|| client.acknowledge(event, abort)).map_err(Failure::from)?;
                    let mut state = self.state.lock();
                    if let State::Stopped(thread, _) = std::mem::take(&mut *state) {
                        *state = State::Running(thread);
                    }
                }
                None => {
                    // It stops at its next operator, if it has one.
                    py.detach(|| client.pause(None)).map_err(Failure::from)?;
                }
            }
            match receive(py, &self.wakes)? {
                Some(Wake::Event) => drop(self.take_stop(py, &client)?),
                // An aborted run ends with an error, which is expected here.
                Some(Wake::End(end)) => drop(self.end(py, end)),
                None => return Ok(()),
            }
        }
    }
}

#[pymethods]
impl DebugSession {
    fn __enter__<'py>(this: PyRef<'py, Self>, py: Python<'py>) -> PyResult<PyRef<'py, Self>> {
        let waker = this.waker.clone();
        let session = Arc::clone(&this.session);
        let attached = py.detach(|| {
            let debugger =
                Debugger::new().map_err(|error| Failure::debug(format!("the debugger cannot be made: {error}")))?;
            let model = session.shown_to(&debugger);
            let options = AttachOptions { name: "Python".to_owned(), lease: LEASE, ..AttachOptions::default() };
            let client = Arc::new(debugger.attach(options)?);
            // These events report what happened before the client attached; no thread waits at them.
            while client.next_event(Queue::Sync)?.is_some() {}
            // A wake that is there already is enough.
            client.set_notification_callback(Some(Box::new(move || drop(waker.try_send(Wake::Event)))))?;
            Ok::<_, Failure>(Attached { client, debugger, _model: model })
        })?;
        *this.attached.lock() = Some(attached);
        Ok(this)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let aborted = self.abort_run(py);
        let attached = self.attached.lock().take();
        py.detach(|| {
            if let Some(Attached { client, debugger, _model }) = attached {
                // The client is detached first: otherwise dropping the model would notify it, and wait for its
                // acknowledgement.
                drop(client.detach());
                drop((client, _model, debugger));
            }
        });
        aborted
    }

    /// Stops the run at operators: by name, glob pattern or type (`Conv`, `/layer1/*`, `type:Conv`, `#12`), or at the
    /// first one that makes NaN or infinity (`first nonfinite`). `when` is a condition on its tensors, such as
    /// `absmax(output[0]) > 1e4`; `moment` is `before` or `after` the operator. Returns the breakpoint's number.
    #[pyo3(signature = (target, when=None, *, moment=None, once=false))]
    fn break_at(
        &self,
        py: Python<'_>,
        target: &str,
        when: Option<String>,
        moment: Option<&str>,
        once: bool,
    ) -> PyResult<u64> {
        let client = self.client()?;
        let moment = match moment {
            None => None,
            Some("before") => Some(Moment::Before),
            Some("after") => Some(Moment::After),
            Some(other) => return Err(input(format!("moment is before or after, not '{other}'"))),
        };
        let target: Target = target.parse().map_err(Failure::input)?;
        let spec = BreakpointSpec { condition: when, moment, one_shot: once, ..BreakpointSpec::at(target) };
        let added = py.detach(|| client.add_breakpoint(spec)).map_err(Failure::from)?;
        Ok(added.id.0.into())
    }

    /// Starts the run. Returns where it stops, or `None` when it has ended.
    fn run(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        self.client()?;
        {
            let mut state = self.state.lock();
            if !matches!(*state, State::NotStarted | State::Ended(_) | State::Failed) {
                return Err(Failure::debug("the run is under way; resume() continues it").into());
            }
            let debugger = self.attached.lock().as_ref().map(|attached| attached.debugger.clone());
            let debugger = debugger.ok_or_else(|| PyRuntimeError::new_err("the debugger was left"))?;
            let (session, inputs, waker) = (Arc::clone(&self.session), self.inputs.clone(), self.waker.clone());
            let work = move || {
                let end = session.compute(&inputs, &[&debugger]).map_err(Failure::from);
                // The receiver is gone if the debugger was dropped.
                let _ = waker.send(Wake::End(end));
            };
            let thread = thread::Builder::new().name("opscope-debuggee".to_owned()).spawn(work);
            *state =
                State::Running(thread.map_err(|error| Failure::any(format!("no thread can be started: {error}")))?);
        }
        self.wait(py)
    }

    /// Continues to the next breakpoint. Returns where the run stops, or `None` when it has ended.
    fn resume(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        self.resume_with(py, Resume::Continue)
    }

    /// Continues to the next operator.
    fn step(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        self.resume_with(py, Resume::Step)
    }

    /// Continues to the next operator, past those of modules that this one is not in.
    fn next(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        self.resume_with(py, Resume::Over)
    }

    /// Continues to the end of this operator.
    fn finish(&self, py: Python<'_>) -> PyResult<Option<Stop>> {
        self.resume_with(py, Resume::Finish)
    }

    /// Continues to one of these operators, or to the end.
    fn until(&self, py: Python<'_>, target: &str) -> PyResult<Option<Stop>> {
        let target: Target = target.parse().map_err(Failure::input)?;
        self.resume_with(py, Resume::Until(target))
    }

    /// Continues without executing the operator that the run is stopped before. `outputs` are its outputs, by slot.
    fn skip(&self, py: Python<'_>, outputs: Vec<Bound<'_, PyAny>>) -> PyResult<Option<Stop>> {
        let tensors =
            outputs.iter().enumerate().map(|(slot, array)| inputs::tensor(array, &format!("outputs[{slot}]"), None));
        let tensors: PyResult<Vec<Tensor>> = tensors.collect();
        self.resume_with(py, Resume::Skip(tensors?))
    }

    /// Ends the stopped run at once.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        self.abort_run(py)
    }

    /// The outputs of the run that has ended, by their names; `None` before.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let outputs = match &*self.state.lock() {
            State::Ended(outputs) => outputs.clone(),
            _ => return Ok(None),
        };
        let named = PyDict::new(py);
        let graph = self.session.graph();
        for (&id, tensor) in graph.outputs.iter().zip(outputs) {
            let name = &graph.value(id).name;
            named.set_item(name, TensorObject::named(tensor, name).into_pyobject(py)?)?;
        }
        Ok(Some(named))
    }

    fn __repr__(&self) -> String {
        let state = match &*self.state.lock() {
            State::NotStarted => "not started".to_owned(),
            State::Busy | State::Running(_) => "running".to_owned(),
            State::Stopped(_, event) => format!("stopped at event {event}"),
            State::Ended(_) => "ended".to_owned(),
            State::Failed => "failed".to_owned(),
        };
        format!("<opscope.DebugSession: {state}>")
    }
}

impl Drop for DebugSession {
    fn drop(&mut self) {
        // Without the client, the run continues to its end, and dropping the model waits for no acknowledgement.
        if let Some(Attached { client, .. }) = self.attached.get_mut() {
            let _ = client.detach();
        }
    }
}
