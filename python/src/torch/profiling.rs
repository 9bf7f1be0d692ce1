//! When the modules and operators of a program were executed, and the recording of that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::clock::{Calibration, ClockPair, Ticks};
use opscope::model::{Fidelity, Iteration, OpenOperator};
use opscope::profile::{EngineInfo, Format, Profiler, ProfilerOptions, Recording, RecordingInfo, TimelineRuns};
use opscope_torch::{ModulePath, Phase, Place, Program};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::backward::Backward;
use super::tensors::{Reader, tensors_in};
use super::threads::{Call, Mark, Timed};
use super::{State, TorchTap};
use crate::failure::Failure;

/// The recording of a program.
pub struct ProgramProfile {
    profiler: Arc<Profiler>,
    directory: PathBuf,
    /// The clock of the program's device, if it has one: an `opscope.torch._device_clock.DeviceClock`.
    clock: Option<Py<PyAny>>,
    /// The beginning of the step on the device's clock.
    base: Option<(ClockPair, Py<PyAny>)>,
    /// What the device has executed or will execute in this step.
    pending: Vec<Pending>,
    pub backward: Backward,
}

/// An execution whose times the device has.
struct Pending {
    operator: Arc<OpenOperator>,
    path: Box<[Iteration]>,
    start: Arc<Py<PyAny>>,
    end: Arc<Py<PyAny>>,
}

/// The number of executions on a device after which their times are fetched before the end of the step.
const MOST_PENDING: usize = 1 << 16;

impl ProgramProfile {
    /// Creates the directory, and adds the profiler to the program.
    pub fn create(program: &mut Program, directory: &Path, version: &str, threads: usize) -> Result<Self, Failure> {
        let engine = EngineInfo { threads, ..EngineInfo::new("torch", version, Fidelity::Exact) };
        let info = RecordingInfo { graph: Arc::clone(program.header()), engine };
        // A process of the program may be killed.
        let options = ProfilerOptions { survives_crash: true, ..ProfilerOptions::default() };
        let profiler = Arc::new(Profiler::create(directory, &info, &options)?);
        program.add(Arc::clone(&profiler) as _).map_err(Failure::any)?;
        Ok(Self {
            profiler,
            directory: directory.to_owned(),
            clock: None,
            base: None,
            pending: Vec::new(),
            backward: Backward::default(),
        })
    }

    /// Sets the clock of the program's device.
    pub fn set_clock(&mut self, clock: Py<PyAny>) {
        self.profiler.note("times on the device are those of its own events");
        self.clock = Some(clock);
    }

    /// Returns this moment.
    pub fn mark(&mut self, py: Python<'_>) -> PyResult<Mark> {
        let Some(clock) = &self.clock else { return Ok(Mark { ticks: Ticks::now(), event: None }) };
        if self.base.is_none() {
            // The device has nothing to do when a step begins, because the times of the last one were fetched.
            self.base = Some((ClockPair::now(), clock.bind(py).call_method0("mark")?.unbind()));
        }
        Ok(Mark { ticks: Ticks::now(), event: Some(Arc::new(clock.bind(py).call_method0("mark")?.unbind())) })
    }

    /// Begins the execution of an operator.
    pub fn begin(&mut self, py: Python<'_>, operator: Arc<OpenOperator>) -> PyResult<Timed> {
        Ok(Timed { operator, start: self.mark(py)? })
    }

    /// Records an execution that has ended. It was executed by the device if it `is_on_device`.
    pub fn end(
        &mut self,
        py: Python<'_>,
        program: &mut Program,
        timed: &Timed,
        path: Vec<Iteration>,
        end: &Mark,
        is_on_device: bool,
    ) -> PyResult<()> {
        let Timed { operator, start } = timed;
        match (&start.event, &end.event) {
            (Some(start), Some(end)) if is_on_device => {
                let (operator, path) = (Arc::clone(operator), path.into());
                self.pending.push(Pending { operator, path, start: Arc::clone(start), end: Arc::clone(end) });
            }
            _ => program.timed(operator, &path, start.ticks, end.ticks),
        }
        if self.pending.len() < MOST_PENDING { Ok(()) } else { self.fetch(program, py) }
    }

    /// Fetches the times of the device.
    pub fn fetch(&mut self, program: &mut Program, py: Python<'_>) -> PyResult<()> {
        let pending = std::mem::take(&mut self.pending);
        let (Some((base, first)), Some(clock)) = (self.base.take(), &self.clock) else { return Ok(()) };
        let events = pending.iter().flat_map(|pending| [&*pending.start, &*pending.end]);
        let events = PyList::new(py, events)?;
        let fetched = clock.bind(py).call_method1("milliseconds", (first, events));
        let times: Vec<f64> = match fetched.and_then(|times| times.extract()) {
            Ok(times) => times,
            Err(error) => {
                program.untimed(pending.len() as u64);
                self.profiler.set_incomplete(format!("the device did not give its times: {error}"));
                return Ok(());
            }
        };
        let per_tick = Calibration::since(base).nanos_per_tick();
        let ticks = |milliseconds: f64| {
            Ticks::from_raw(base.ticks.as_raw() + (milliseconds.max(0.0) * 1e6 / per_tick).round() as u64)
        };
        for (Pending { operator, path, .. }, times) in pending.iter().zip(times.chunks_exact(2)) {
            program.timed(operator, path, ticks(times[0]), ticks(times[1]).max(ticks(times[0])));
        }
        Ok(())
    }

    /// Writes what is still in memory. The recording needs the program's last run to have ended.
    pub fn close<'py>(
        self,
        py: Python<'py>,
        program: &mut Program,
        problems: &[String],
    ) -> PyResult<Bound<'py, PyDict>> {
        let (executions, operators) = (program.executions(), program.operators());
        program.remove_instruments();
        let Self { profiler, directory, .. } = self;
        problems.iter().for_each(|problem| profiler.set_incomplete(problem));
        let profiler = Arc::into_inner(profiler).ok_or_else(|| Failure::any("a run of the program did not end"))?;
        let finished = py.detach(|| {
            let manifest = profiler.finish()?;
            let recording = Recording::open(&directory)?;
            let excerpt = recording.excerpt(TimelineRuns::default())?;
            for format in Format::ALL {
                excerpt.export(format, &directory)?;
            }
            Ok::<_, Failure>((manifest, recording.account()?.runs.measured))
        });
        let (manifest, runs) = finished?;
        let told = PyDict::new(py);
        told.set_item("directory", &directory)?;
        told.set_item("complete", manifest.complete)?;
        told.set_item("steps", runs)?;
        told.set_item("executions", executions)?;
        told.set_item("bytes", manifest.records.map_or(0, |records| records.bytes))?;
        told.set_item("operators", operators)?;
        told.set_item("errors", manifest.incomplete_because)?;
        Ok(told)
    }
}

/// Closes the recording of a process that ended before it could. Returns the number of its steps.
#[pyfunction]
pub fn close_abandoned_profile(directory: PathBuf, reason: &str) -> PyResult<u64> {
    opscope::profile::close_abandoned(&directory, reason).map_err(Failure::from)?;
    let recording = Recording::open(&directory).map_err(Failure::from)?;
    Ok(recording.account().map_err(Failure::from)?.runs.measured)
}

impl State {
    /// Returns the modules and optimizers that the current thread is executing, outermost first.
    fn path(&mut self) -> Vec<Iteration> {
        let thread = self.threads.current();
        let calls = |is_recomputed: bool| {
            let calls = thread.stack.iter().filter(move |call| call.is_recomputed == is_recomputed);
            calls.filter_map(|call| Some(call.timed.as_ref()?.level()))
        };
        let backward = self.profile.iter().flat_map(|profile| profile.backward.levels());
        let optimizing = thread.optimizing.iter().map(|timed| timed.level());
        calls(false).chain(optimizing).chain(backward).chain(calls(true)).collect()
    }

    /// Begins to time what is executed at a place. `None` if its times are not wanted.
    fn begin_timed(&mut self, py: Python<'_>, place: &Place) -> PyResult<Option<Timed>> {
        let Self { program, profile: Some(profile), .. } = self else { return Ok(None) };
        let Some(operator) = program.found(place) else { return Ok(None) };
        profile.begin(py, operator).map(Some)
    }

    /// Records that what was timed has ended within what the current thread is executing now.
    fn end_timed(&mut self, py: Python<'_>, timed: &Timed, end: &Mark, is_on_device: bool) -> PyResult<()> {
        self.end_timed_in(py, timed, &[], end, is_on_device)
    }

    /// Does the same as [`end_timed`](Self::end_timed), within `around` in addition.
    pub fn end_timed_in(
        &mut self,
        py: Python<'_>,
        timed: &Timed,
        around: &[Iteration],
        end: &Mark,
        is_on_device: bool,
    ) -> PyResult<()> {
        let mut path = self.path();
        path.extend(around);
        let Self { program, profile: Some(profile), .. } = self else { return Ok(()) };
        profile.end(py, program, timed, path, end, is_on_device)
    }
}

/// Begins to time the call of a module. `None` if its times are not wanted.
pub fn enter_module(state: &mut State, py: Python<'_>, call: &Call) -> PyResult<Option<Timed>> {
    if state.profile.is_none() || !state.program.is_wanted() {
        return Ok(None);
    }
    let place = state.place_of(py, call);
    state.begin_timed(py, &place)
}

/// Records that the call of a module has ended.
pub fn leave_module(tap: &TorchTap, py: Python<'_>, call: &Call, output: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut state = tap.lock();
    let (Some(profile), Some(timed)) = (&mut state.profile, &call.timed) else { return Ok(()) };
    let end = profile.mark(py)?;
    let is_on_device = end.is_on_device_clock() && is_on_device(&tap.reader, output);
    state.end_timed(py, timed, &end, is_on_device)
}

/// Records that an optimizer begins or ends its step.
pub fn optimizer(state: &mut State, py: Python<'_>, module: Option<&Arc<ModulePath>>) -> PyResult<()> {
    let Some(module) = module else {
        let Some(timed) = state.threads.current().optimizing.take() else { return Ok(()) };
        let State { profile: Some(profile), .. } = state else { return Ok(()) };
        let end = profile.mark(py)?;
        return state.end_timed(py, &timed, &end, true);
    };
    let source = state.frames.line(py);
    let (phase, class) = (Phase::Optimizer, Arc::from(module.name.as_str()));
    let place = Place { module: Some(Arc::clone(module)), call: 0, phase, operator: None, class, source };
    let timed = state.begin_timed(py, &place)?;
    state.threads.current().optimizing = timed.map(Arc::new);
    Ok(())
}

/// Records an operator that was executed.
pub fn operator(
    state: &mut State,
    py: Python<'_>,
    place: &Place,
    (start, end): (Mark, Mark),
    is_on_device: bool,
) -> PyResult<()> {
    let Some(operator) = state.program.found_at(place, start.ticks) else { return Ok(()) };
    state.end_timed(py, &Timed { operator, start }, &end, is_on_device)
}

/// Returns whether the first tensor in a result lies on a device.
pub fn is_on_device(reader: &Reader, output: &Bound<'_, PyAny>) -> bool {
    let mut first = None;
    tensors_in(reader, output, &mut |tensor| {
        if first.is_none() {
            first = Some(tensor.clone());
        }
    });
    let is_cpu = |tensor: Bound<'_, PyAny>| tensor.getattr("is_cpu").and_then(|is| is.extract()).unwrap_or(true);
    first.is_some_and(|tensor| !is_cpu(tensor))
}
