//! A model: loaded, described, run.

mod benchmark;
mod dump;
mod profile;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::Session;
use opscope::engine::{EngineName, EngineSpec};
use opscope::model::{Fidelity, LoadBudget, LoadOptions};
use opscope::onnx::{Dim, Graph, ValueId};
use opscope::tensor::{DType, Tensor};
use opscope::text::counted;
use opscope_job::benchmark::Job;
use opscope_job::compare::RunSpec;
use opscope_job::inputs::{Data, InputSpec, ShapeSpec};
use opscope_sys::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyString, PyTuple};

pub use self::benchmark::Benchmark;
pub use self::dump::DumpStream;
pub use self::profile::{Profile, operators_table};
use crate::columns::Columns;
use crate::debug::DebugSession;
use crate::failure::{Failure, input};
use crate::inputs;
use crate::stored::Dump;
use crate::table::{Table, document};
use crate::tensor::{TensorObject, outputs_in_place};

/// The most threads within an operator.
const MOST_THREADS: usize = 1024;

/// A model that is loaded and can run. Several threads may run it at once.
#[pyclass(module = "opscope", frozen)]
pub struct Model {
    /// What the user loaded.
    session: Arc<Session>,
    /// The same model at the other fidelity, loaded when it is first needed.
    other: Mutex<Option<Arc<Session>>>,
    engine: EngineSpec,
    path: PathBuf,
    /// The names of the outputs, as every run needs them.
    output_names: Vec<Py<PyString>>,
    /// The process that loaded it.
    process: u32,
}

/// An input or an output of a model.
#[pyclass(module = "opscope", frozen, get_all)]
pub struct Value {
    /// The name in the file.
    name: String,
    /// The type of its elements, by the name that numpy and ONNX use; `None` if the file does not give it.
    dtype: Option<&'static str>,
    /// The shape: a number, or a name for a size that is open; `None` if the file does not give it.
    shape: Option<Vec<Size>>,
}

/// A size in a shape.
#[derive(Clone, IntoPyObject, IntoPyObjectRef)]
pub enum Size {
    Fixed(usize),
    Open(String),
}

#[pymethods]
impl Value {
    fn __repr__(&self) -> String {
        let shape = self.shape.as_ref().map(|shape| {
            let sizes = shape.iter().map(|size| match size {
                Size::Fixed(size) => size.to_string(),
                Size::Open(name) if name.is_empty() => "?".to_owned(),
                Size::Open(name) => name.clone(),
            });
            sizes.collect::<Vec<_>>().join(", ")
        });
        let shape = shape.unwrap_or_else(|| "...".to_owned());
        format!("<opscope.Value {}: {} [{shape}]>", self.name, self.dtype.unwrap_or("of any type"))
    }
}

/// Loads a model: from `path`, or from `data`, whose file `path` names in messages.
#[pyfunction]
#[pyo3(signature = (path, data, *, engine, threads, fidelity, library))]
pub fn load_model(
    py: Python<'_>,
    path: PathBuf,
    data: Option<PyBackedBytes>,
    engine: &str,
    threads: usize,
    fidelity: &str,
    library: Option<PathBuf>,
) -> PyResult<Model> {
    let name: EngineName = engine.parse().map_err(Failure::input)?;
    let threads = NonZeroUsize::new(threads).filter(|threads| threads.get() <= MOST_THREADS);
    let threads = threads.ok_or_else(|| input(format!("threads is a number from 1 to {MOST_THREADS}")))?;
    let fidelity = inputs::fidelity(fidelity)?;
    let spec = EngineSpec { name, library, ..EngineSpec::default() };
    let session = py.detach(|| {
        let engine = spec.open()?;
        let options = LoadOptions::new(fidelity, threads);
        let session = match data {
            None => Session::open_with(engine, &path, &options)?,
            Some(data) => {
                let graph = Graph::from_bytes(&path, data.to_vec().into())?;
                Session::with_engine(engine, Arc::new(graph), &options).map_err(Failure::model)?
            }
        };
        Ok::<_, Failure>(session)
    })?;
    let graph = session.graph();
    let output_names = graph.outputs.iter().map(|&id| PyString::new(py, &graph.value(id).name).unbind()).collect();
    let (other, process) = (Mutex::default(), std::process::id());
    Ok(Model { session: Arc::new(session), other, engine: spec, path, output_names, process })
}

impl Model {
    /// Returns the session at a fidelity.
    pub fn session(&self, fidelity: Fidelity) -> Result<Arc<Session>, Failure> {
        self.check_process()?;
        if self.session.model().fidelity() == fidelity {
            return Ok(Arc::clone(&self.session));
        }
        let mut other = self.other.lock();
        if let Some(other) = &*other {
            return Ok(Arc::clone(other));
        }
        let loaded = self.session.with_options(&self.session.options(fidelity)).map_err(Failure::model)?;
        Ok(Arc::clone(other.insert(Arc::new(loaded))))
    }

    /// Checks that this is not a forked process, because a fork does not copy the threads of an operator.
    fn check_process(&self) -> Result<(), Failure> {
        let threads = self.session.threads().get();
        if threads > 1 && std::process::id() != self.process {
            return Err(Failure::any(format!(
                "the model was loaded with {threads} threads before this process was forked, and a fork copies no threads; load it in \
                 the new process, or start that by multiprocessing's 'spawn'"
            )));
        }
        Ok(())
    }

    pub fn graph(&self) -> &Arc<Graph> {
        self.session.graph()
    }

    /// Returns the tensors for the inputs; generated ones if none are given.
    pub fn inputs_or(&self, given: Option<&Bound<'_, PyAny>>, data: Data) -> PyResult<Vec<Tensor>> {
        match given {
            Some(given) => inputs::tensors(self.graph(), given),
            None => {
                let (inputs, _) =
                    InputSpec::Generated(data).find(self.graph(), &ShapeSpec::Smallest).map_err(Failure::from)?;
                Ok(inputs.batch(self.graph(), 0).map_err(Failure::from)?.tensors)
            }
        }
    }

    /// How the model runs in a comparison.
    pub fn run_spec(&self, fidelity: Fidelity) -> RunSpec {
        RunSpec {
            model: self.path.clone(),
            graph: Some(Arc::clone(self.graph())),
            engine: self.engine.clone(),
            fidelity,
            threads: self.session.threads(),
            budget: LoadBudget::default(),
        }
    }

    /// A job of this model on these inputs.
    fn job(&self, given: Option<&Bound<'_, PyAny>>) -> PyResult<Job> {
        let mut job = Job::new(&self.path);
        job.inputs = match given {
            Some(given) => InputSpec::Given(inputs::tensors(self.graph(), given)?),
            None => InputSpec::Generated(Data::Zero),
        };
        job.engine = self.engine.clone();
        job.engine_threads = self.session.threads();
        Ok(job)
    }

    fn values(&self, ids: &[ValueId]) -> Vec<Value> {
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => Size::Fixed(*size),
            Dim::Symbol(name) => Size::Open(name.clone()),
        };
        let value = |&id: &ValueId| {
            let value = self.graph().value(id);
            Value {
                name: value.name.clone(),
                dtype: value.dtype.map(DType::name),
                shape: value.shape.as_ref().map(|shape| shape.iter().map(size).collect()),
            }
        };
        ids.iter().map(value).collect()
    }
}

#[pymethods]
impl Model {
    /// The file; `(memory)` for a model that came as bytes.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }

    /// The engine's name and version.
    #[getter]
    fn engine(&self) -> String {
        format!("{} {}", self.session.engine().name(), self.session.engine().version())
    }

    /// `optimised` or `exact`: how `run` follows the file.
    #[getter]
    fn fidelity(&self) -> &'static str {
        self.session.model().fidelity().name()
    }

    /// The threads within an operator.
    #[getter]
    fn threads(&self) -> usize {
        self.session.threads().get()
    }

    /// The inputs of a run.
    #[getter]
    fn inputs(&self) -> Vec<Value> {
        self.values(&self.graph().inputs)
    }

    /// The outputs of a run.
    #[getter]
    fn outputs(&self) -> Vec<Value> {
        self.values(&self.graph().outputs)
    }

    /// The operators of the file, in the order of execution.
    #[getter]
    fn operators(&self) -> Table {
        operators_of(self.graph()).into()
    }

    /// Runs once and returns the outputs by their names, in the engine's memory.
    fn run<'py>(&self, py: Python<'py>, inputs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        self.check_process()?;
        let tensors = inputs::tensors(self.graph(), inputs)?;
        // The inputs are dropped after this, with the interpreter attached: the objects that lend their memory may need
        // it.
        let outputs = py.detach(|| outputs_in_place(self.session.compute(&tensors, &[])?))?;
        let named = PyDict::new(py);
        for ((&id, text), tensor) in self.graph().outputs.iter().zip(&self.output_names).zip(outputs) {
            let name = &self.graph().value(id).name;
            named.set_item(text.bind(py), TensorObject::named(tensor, name).into_pyobject(py)?)?;
        }
        Ok(named)
    }

    /// Runs the model many times and returns how long a run takes, and where the time goes.
    #[pyo3(signature = (inputs=None, *, duration=None, runs=None, warmups=1))]
    fn benchmark(
        &self,
        py: Python<'_>,
        inputs: Option<&Bound<'_, PyAny>>,
        duration: Option<f64>,
        runs: Option<u64>,
        warmups: u64,
    ) -> PyResult<Benchmark> {
        let session = py.detach(|| self.session(Fidelity::Optimised))?;
        Benchmark::take(py, session, self.job(inputs)?, duration, runs, warmups)
    }

    /// Runs the model with a profiler, and returns the recording.
    #[pyo3(signature = (inputs=None, *, runs=100, warmups=1))]
    fn profile(&self, py: Python<'_>, inputs: Option<&Bound<'_, PyAny>>, runs: u64, warmups: u64) -> PyResult<Profile> {
        let session = py.detach(|| self.session(Fidelity::Optimised))?;
        Profile::take(py, session, self.job(inputs)?, runs, warmups)
    }

    /// Runs once and yields the tensors of every operator as it is executed. At most three tensors are held at once.
    #[pyo3(signature = (inputs=None, *, select=None, types=None, io="outputs"))]
    fn dump(
        &self,
        py: Python<'_>,
        inputs: Option<&Bound<'_, PyAny>>,
        select: Option<&Bound<'_, PyAny>>,
        types: Option<&Bound<'_, PyAny>>,
        io: &str,
    ) -> PyResult<DumpStream> {
        let selection = dump::selection(self.graph(), select, types, io)?;
        let tensors = self.inputs_or(inputs, Data::Zero)?;
        let session = py.detach(|| self.session(Fidelity::Exact))?;
        Ok(DumpStream::start(session, tensors, selection)?)
    }

    /// Runs once and writes the tensors of every operator into a directory, which must not exist. Returns what was
    /// written.
    #[pyo3(signature = (directory, inputs=None, *, select=None, types=None, io="outputs", statistics_only=false))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn write_dump(
        &self,
        py: Python<'_>,
        directory: PathBuf,
        inputs: Option<&Bound<'_, PyAny>>,
        select: Option<&Bound<'_, PyAny>>,
        types: Option<&Bound<'_, PyAny>>,
        io: &str,
        statistics_only: bool,
    ) -> PyResult<Dump> {
        let selection = dump::selection(self.graph(), select, types, io)?;
        let tensors = self.inputs_or(inputs, Data::Zero)?;
        let session = py.detach(|| self.session(Fidelity::Exact))?;
        dump::write(py, session, tensors, selection, directory, statistics_only)
    }

    /// Returns a debugger for one run: a context manager.
    #[pyo3(signature = (inputs=None))]
    fn debug(&self, py: Python<'_>, inputs: Option<&Bound<'_, PyAny>>) -> PyResult<DebugSession> {
        let tensors = self.inputs_or(inputs, Data::Zero)?;
        let session = py.detach(|| self.session(Fidelity::Exact))?;
        Ok(DebugSession::new(session, tensors)?)
    }

    /// Inputs of the model's types and smallest shapes, by their names: random ones that are the same for the same
    /// seed, or zeros without one.
    #[pyo3(signature = (seed=None))]
    fn generate_inputs<'py>(&self, py: Python<'py>, seed: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
        let tensors = self.inputs_or(None, seed.map_or(Data::Zero, Data::Random))?;
        let named = PyDict::new(py);
        for (&id, tensor) in self.graph().inputs.iter().zip(tensors) {
            let name = &self.graph().value(id).name;
            named.set_item(name, TensorObject::named(tensor, name).into_pyobject(py)?)?;
        }
        Ok(named)
    }

    fn __repr__(&self) -> String {
        let operators = counted(self.graph().operators.len(), "operator");
        format!("<opscope.Model {}: {operators}, {}>", self.path.display(), self.engine())
    }

    fn _repr_html_(&self) -> String {
        let facts = [
            ("engine", format!("{}, {}, {}", self.engine(), self.fidelity(), counted(self.threads(), "thread"))),
            ("inputs", inputs::signature(self.graph())),
            ("operators", self.graph().operators.len().to_string()),
        ];
        let operators: Table = operators_of(self.graph()).into();
        document(&self.path.display().to_string(), &facts, &operators.html())
    }
}

fn operators_of(graph: &Graph) -> Columns {
    let operators = &graph.operators;
    let names = |ids: &[Option<ValueId>]| {
        ids.iter().flatten().map(|&id| graph.value(id).name.as_str()).collect::<Vec<_>>().join(", ")
    };
    Columns::of(operators.len())
        .texts("operator", operators.iter().map(|operator| Some(&operator.name)))
        .texts("op_type", operators.iter().map(|operator| Some(&operator.op_type)))
        .texts("inputs", operators.iter().map(|operator| Some(names(&operator.inputs))))
        .texts("outputs", operators.iter().map(|operator| Some(names(&operator.outputs))))
        .texts("display_name", operators.iter().map(|operator| Some(operator.display_name())))
}

/// Reads one text or several.
fn texts(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    match given {
        None => Ok(Vec::new()),
        Some(given) => given.extract::<String>().map(|one| vec![one]).or_else(|_| given.extract()),
    }
}

/// Converts a number of seconds, which must be valid for a duration.
fn seconds(name: &str, seconds: f64) -> PyResult<std::time::Duration> {
    std::time::Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{name} is a number of seconds above 0, not {seconds}")))
}

/// Returns a pair as a Python tuple.
fn pair<'py>(py: Python<'py>, numbers: (f64, f64)) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, [numbers.0, numbers.1])
}
