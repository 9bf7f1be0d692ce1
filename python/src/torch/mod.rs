//! A PyTorch program that is watched: what its hooks and its dispatch mode call.
//!
//! | file | what |
//! |---|---|
//! | `instruments` | what is added to the program: dumps, consumers |
//! | `before` | an operator that is about to be executed |
//! | `looking` | an operator or a module that was executed, shown to the program; what operators take, as it was before |
//! | `profiling` | when modules and operators were executed, and the recording of that |
//! | `calls` | what is called: modules, and operators of classes of tensors |
//! | `backward` | when the gradients of modules were computed |
//! | `sinks` | the dump, which an `acl.json` may describe, and how it is closed |
//! | `debugging` | a debugger that may stop the program, and its server |
//! | `changing` | tensors that a debugger has changed |
//! | `finding` | what a watch has found, as an exception |
//! | `tensors` | tensors, where they lie |
//! | `operators` | what operators do to their arguments |
//! | `modules` | modules and parameters, and their names |
//! | `threads` | what each thread is doing, when it began, and whether it is inside the tap |
//! | `autograd` | what autograd is doing |
//! | `frames` | lines of the program |

mod autograd;
mod backward;
mod before;
mod calls;
mod changing;
mod debugging;
mod finding;
mod frames;
mod instruments;
mod looking;
mod modules;
mod operators;
mod profiling;
mod sinks;
mod tensors;
mod threads;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::{HashMap, HashMapExt};
use opscope_torch::{ModulePath, NonFinite, Place, Program, StepRange, Watch};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple, PyType};

use self::autograd::Autograd;
use self::calls::is_handling_exception;
use self::debugging::ProgramDebugger;
pub use self::debugging::{TorchServer, instrument_program};
use self::frames::Frames;
use self::looking::Before;
use self::modules::Modules;
use self::operators::Operators;
use self::profiling::ProgramProfile;
pub use self::profiling::close_abandoned_profile;
use self::sinks::{AclText, ProgramDump};
pub use self::sinks::{close_abandoned_dump, read_acl_json};
use self::tensors::Reader;
use self::threads::{Inside, Mark, Threads};
use crate::failure::{Failure, input};

/// What watches a PyTorch program: the object whose methods its hooks call, and which is a dispatch mode itself.
#[pyclass(module = "opscope", frozen)]
pub struct TorchTap {
    /// Whether operators are looked at, and not only modules.
    looks_at_operators: bool,
    looks_backward: bool,
    /// Set in the child of a fork, and when the tap was closed: nothing is looked at any more.
    is_dead: AtomicBool,
    /// Set while nothing is looked at for a time.
    is_asleep: AtomicBool,
    /// Whether the times of operators are wanted.
    is_profiled: AtomicBool,
    /// Whether operators are looked at before they are executed, too.
    looks_before: AtomicBool,
    reader: Reader,
    autograd: Autograd,
    /// `torch.Tensor` and `torch.nn.Parameter`, and the dispatch function that PyTorch gives to classes without their
    /// own.
    plain: [Py<PyAny>; 2],
    no_dispatch: Py<PyAny>,
    state: Mutex<State>,
}

/// What changes while a program runs.
struct State {
    program: Program,
    version: String,
    dump: Option<ProgramDump>,
    watch: Option<Watch>,
    /// Whether what the watch finds is an exception in the program.
    raises: bool,
    debug: Option<ProgramDebugger>,
    profile: Option<ProgramProfile>,
    threads: Threads,
    modules: Modules,
    operators: Operators,
    frames: Frames,
    /// The calls of each module in the current step.
    calls: HashMap<usize, u32>,
    /// The places of calls of modules, by the module, the number of the call, and whether autograd called it.
    places: HashMap<(usize, u32, bool), Place>,
    /// The optimizers that were seen, as modules, by the names of their classes.
    optimizers: HashMap<String, Arc<ModulePath>>,
    /// Whether classes of tensors have a dispatch function of their own, by their addresses. The classes are kept.
    classes: HashMap<usize, (Py<PyAny>, bool)>,
    skipped: BTreeMap<String, u64>,
    not_seen: BTreeMap<String, u64>,
    problems: Vec<String>,
    /// The statistics that devices are computing, in their order.
    reductions: Vec<Py<PyAny>>,
    /// How many bytes of tensors are copied from devices for them, at most.
    reduced_bytes: usize,
}

#[pymethods]
impl TorchTap {
    /// Whether a mode is one of PyTorch's own. It would be left out where a program asks for its modes.
    #[classmethod]
    fn is_infra_mode(_class: &Bound<'_, PyType>) -> bool {
        false
    }

    /// Lets `torch.compile` work beside the mode.
    #[classmethod]
    fn ignore_compile_internals(_class: &Bound<'_, PyType>) -> bool {
        true
    }

    /// Lets operators of higher order reach the mode.
    #[classattr]
    fn supports_higher_order_operators() -> bool {
        true
    }

    /// `reduces_all` is for tests: it computes statistics as those of tensors on devices. `level` is `module` or `op`.
    /// `script` is the file of the program, with the hash of its bytes.
    #[new]
    #[pyo3(signature = (script, version, *, level, backward, steps, reduces_all=false))]
    fn new(
        py: Python<'_>,
        script: (PathBuf, u64),
        version: &str,
        level: &str,
        backward: bool,
        steps: Option<&str>,
        reduces_all: bool,
    ) -> PyResult<Self> {
        let (path, hash) = script;
        let looks_at_operators = match level {
            "op" => true,
            "module" => false,
            other => return Err(input(format!("the level is module or op, not '{other}'"))),
        };
        let steps = steps.map_or(Ok(StepRange::default()), |text| text.parse().map_err(input))?;
        let torch = py.import("torch")?;
        let no_dispatch = torch.getattr("_C")?.getattr("_disabled_torch_dispatch_impl")?;
        Ok(Self {
            looks_at_operators,
            looks_backward: backward,
            is_dead: AtomicBool::new(false),
            is_asleep: AtomicBool::new(false),
            is_profiled: AtomicBool::new(false),
            looks_before: AtomicBool::new(false),
            reader: Reader::new(py, reduces_all)?,
            autograd: Autograd::new(py)?,
            plain: [torch.getattr("Tensor")?.unbind(), torch.getattr("nn")?.getattr("Parameter")?.unbind()],
            no_dispatch: no_dispatch.unbind(),
            state: Mutex::new(State {
                program: Program::new(path, hash, version, steps),
                version: version.to_owned(),
                dump: None,
                watch: None,
                raises: false,
                debug: None,
                profile: None,
                threads: Threads::default(),
                modules: Modules::default(),
                operators: Operators::default(),
                frames: Frames::new(py)?,
                calls: HashMap::new(),
                places: HashMap::new(),
                optimizers: HashMap::new(),
                classes: HashMap::new(),
                skipped: BTreeMap::new(),
                not_seen: BTreeMap::new(),
                problems: Vec::new(),
                reductions: Vec::new(),
                reduced_bytes: 0,
            }),
        })
    }

    /// Writes a dump into a directory that does not exist yet. `compiled` is how what `torch.compile` compiled is
    /// executed: `eager`, `interpret` or `outside`.
    /// `acl_json` is an `acl.json` that says what is dumped. Returns notes for the user.
    #[pyo3(signature = (directory, statistics, select, compiled, acl_json=None))]
    fn dump(
        &self,
        directory: PathBuf,
        statistics: bool,
        select: Vec<String>,
        compiled: String,
        acl_json: Option<AclText>,
    ) -> PyResult<Vec<String>> {
        instruments::dump(self, &directory, (statistics, &select), compiled, acl_json.as_ref())
    }

    /// Records when modules or operators are executed, in a directory that does not exist yet. `threads` is how many
    /// threads an operator is executed by.
    fn profile(&self, directory: PathBuf, threads: usize) -> PyResult<()> {
        let mut state = self.lock();
        let State { program, version, .. } = &mut *state;
        let profile = ProgramProfile::create(program, &directory, version, threads)?;
        state.profile = Some(profile);
        self.is_profiled.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Feeds the times of operators or modules to the consumers that are found, which may run these tools.
    fn consume(&self, tools: Vec<PathBuf>) -> PyResult<()> {
        instruments::consume(self, tools)
    }

    /// Lets the debugger that attaches to a server stop the program.
    fn debug(&self, server: &TorchServer) -> PyResult<()> {
        debugging::add(self, server)
    }

    /// Sets the clock of the program's device, of which the times are taken from now on.
    fn set_clock(&self, clock: Py<PyAny>) {
        if let Some(profile) = &mut self.lock().profile {
            profile.set_clock(clock);
        }
    }

    /// Finds the first NaN, or with `any` the first infinity, too. With `raises`, the program stops there by an
    /// exception.
    #[pyo3(signature = (nonfinite, raises=true))]
    fn watch(&self, nonfinite: &str, raises: bool) -> PyResult<()> {
        let kind = match nonfinite {
            "nan" => NonFinite::Nan,
            "any" => NonFinite::Any,
            other => return Err(input(format!("nonfinite is nan or any, not '{other}'"))),
        };
        let watch = Watch::new(kind);
        let mut state = self.lock();
        state.program.add(Arc::new(watch.clone())).map_err(Failure::any)?;
        state.watch = Some(watch);
        state.raises = raises;
        Ok(())
    }

    /// Notes that a module is called with these arguments. Returns whether the mode is to be entered on this thread.
    fn enter(slf: &Bound<'_, Self>, module: &Bound<'_, PyAny>, args: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let tap = slf.get();
        let Some(_inside) = tap.begin() else { return Ok(false) };
        let call = tap.enter_call(slf.py(), module, args)?;
        if let Some(call) = &call {
            backward::hook_inputs(slf, call, args)?;
        }
        Ok(tap.looks_at_operators && !tap.lock().threads.current().has_mode)
    }

    /// Notes that the mode was entered on this thread, or left.
    fn set_mode(&self, is_entered: bool) {
        // In the child of a fork, a thread that is not there may hold the lock.
        if !self.is_dead.load(Ordering::Relaxed) {
            self.lock().threads.current().has_mode = is_entered;
        }
    }

    /// Notes that the call of a module has ended. `output` is what it returned, and `None` after an exception as well.
    fn leave(slf: &Bound<'_, Self>, module: &Bound<'_, PyAny>, output: &Bound<'_, PyAny>) -> PyResult<()> {
        let tap = slf.get();
        let Some(_inside) = tap.begin() else { return Ok(()) };
        let call = tap.lock().threads.current().leave(module.as_ptr() as usize);
        let Some(call) = call else { return Ok(()) };
        // Checkpointing itself ends what it computes again by an exception, once it has enough.
        if output.is_none() && !call.is_recomputed && is_handling_exception(slf.py()) {
            tap.lock().problem(format!("{} ended by an exception, so it has no output", call.path.name));
        }
        if tap.looks_at_operators {
            return Ok(());
        }
        let is_profiled = tap.lock().profile.is_some();
        if !is_profiled {
            return looking::module(slf, &call, output);
        }
        profiling::leave_module(tap, slf.py(), &call, output)?;
        backward::hook_outputs(slf, &call, output)
    }

    /// Notes that an optimizer begins or ends its step.
    fn optimizer(&self, py: Python<'_>, optimizer: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(_inside) = self.begin() else { return Ok(()) };
        let class = optimizer.map(|optimizer| optimizer.get_type().name()).transpose()?;
        let mut state = self.lock();
        if class.is_none() {
            state.program.optimized();
        }
        let module = class.map(|class| {
            let name = class.to_string();
            let new = || Arc::new(ModulePath { name: name.clone(), modules: Vec::new() });
            Arc::clone(state.optimizers.entry(name.clone()).or_insert_with(new))
        });
        if !self.looks_at_operators {
            profiling::optimizer(&mut state, py, module.as_ref())?;
        }
        state.threads.current().optimizer = module;
        Ok(())
    }

    /// Ends a step because the program says so.
    fn step(&self, py: Python<'_>) -> PyResult<()> {
        self.end_step(py, Program::end_step)
    }

    /// Whether neither the current step nor a later one is looked at.
    #[getter]
    fn is_over(&self) -> bool {
        self.lock().program.is_over()
    }

    /// The current step.
    #[getter]
    fn current_step(&self) -> u64 {
        self.lock().program.step()
    }

    /// Looks at nothing until it is awake again. The current step is over.
    fn sleep(&self, py: Python<'_>) -> PyResult<()> {
        self.end_step(py, Program::cut_step)?;
        self.is_asleep.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Looks again, from the next call of a module on.
    fn wake(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
    }

    /// Looks at nothing any more, without closing anything: in the child of a fork, where the threads that write are
    /// missing.
    fn die(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
    }

    /// Counts something that was not looked at. With a reason, the dump is not complete.
    #[pyo3(signature = (what, reason=None))]
    fn not_seen(&self, what: String, reason: Option<String>) {
        let mut state = self.lock();
        *state.not_seen.entry(what).or_default() += 1;
        if let Some(reason) = reason {
            state.problem(reason);
        }
    }

    /// Ends the run and closes the dump. Returns what is to be told of it, or `None` without a dump. `error` is what
    /// ended the program.
    #[pyo3(signature = (error=None))]
    fn close<'py>(&self, py: Python<'py>, error: Option<String>) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.is_dead.swap(true, Ordering::Relaxed) {
            return Ok(None);
        }
        looking::close(self, py, error)
    }

    /// What a watch has found.
    fn finding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let found = self.lock().watch.as_ref().and_then(Watch::finding);
        let Some(found) = found else { return Ok(None) };
        let facts = finding::facts(py, &found)?;
        facts.set_item("text", finding::text(&found))?;
        Ok(Some(facts))
    }

    /// Executes an operator, and looks at what it has computed.
    #[pyo3(signature = (operator, types, args, kwargs=None))]
    fn __torch_dispatch__<'py>(
        &self,
        py: Python<'py>,
        operator: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(inside) = self.begin() else { return operator.call(args, kwargs) };
        if self.has_own_dispatch(types)? {
            // The class runs its own operators, which come here.
            return Ok(py.NotImplemented().into_bound(py));
        }
        let facts = self.lock().operators.facts(operator)?;
        let around = self.autograd.around(py);
        let mut before = match self.looks_before.load(Ordering::Relaxed) {
            true => before::operator(self, &facts, (args, kwargs), &around)?,
            false => Before::default(),
        };
        let changed = before.arguments.take();
        let (args, kwargs) = changed.as_ref().map_or((args, kwargs), |(args, kwargs)| (args, kwargs.as_ref()));
        let begun = self.mark(py)?;
        // Other modes and operators in Python that the operator calls are looked at as usual.
        let result = inside.leave(|| facts.call(operator, args, kwargs))?;
        let ended = if begun.is_some() { self.mark(py)? } else { None };
        looking::operator(self, &facts, (args, kwargs), &result, (&around, &before), begun.zip(ended))?;
        Ok(result)
    }
}

impl TorchTap {
    /// Returns this moment, if the times of operators are wanted.
    fn mark(&self, py: Python<'_>) -> PyResult<Option<Mark>> {
        if !self.is_profiled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.lock().profile.as_mut().map(|profile| profile.mark(py)).transpose()
    }

    /// Returns a mark that the thread is inside, unless it is already or nothing is looked at.
    fn begin(&self) -> Option<Inside> {
        let looks = !self.is_dead.load(Ordering::Relaxed) && !self.is_asleep.load(Ordering::Relaxed);
        looks.then(Inside::enter).flatten()
    }

    /// Locks the state. A call that is made while the lock is held may let other Python threads run. So a thread that
    /// waits for the lock does not hold the interpreter.
    fn lock(&self) -> MutexGuard<'_, State> {
        Python::attach(|py| self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    /// Notes why the dump is not complete.
    fn problem(&mut self, problem: String) {
        if self.problems.len() < MOST_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// How many reasons are kept why a dump is not complete.
const MOST_PROBLEMS: usize = 1000;
