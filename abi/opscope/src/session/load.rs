//! Loading of models, and what is known of a loaded one.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use opscope::Session;
use opscope::model::{Fidelity, LoadBudget, LoadOptions};
use opscope::onnx::{Dim, Graph, ValueId};
use opscope_border::{Bytes, Out, SizedIn, Text, exported, sized};

use crate::border::opscope_status_t::OPSCOPE_ERROR_MODEL;
use crate::border::{Failure, KeptText, KeptTexts, check_copy, constant, handle, insert, remove, use_engine};
use crate::consumers::attach_once;
use crate::tensor::dtype_code;

/// A loaded model that can run. Free it with `opscope_session_free`.
///
/// Several threads may use a session at once, also to run it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_session_t {
    /// 0 is no session.
    pub id: u64,
}
handle!(opscope_session_t => LoadedSession, "session");

/// How faithfully the engine follows the file.
#[repr(C)]
pub enum opscope_fidelity_t {
    /// Operators are fused and rewritten: fast, and used for timing.
    OPSCOPE_OPTIMISED = 0,
    /// Every operator is executed as the file has it: used for dumping, comparing and debugging. This is several times
    /// slower.
    OPSCOPE_EXACT = 1,
}

/// How to load a model. All fields zero, or NULL in place of the struct, selects the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_session_options_t {
    /// `sizeof(opscope_session_options_t)`.
    pub size: usize,
    /// An `opscope_fidelity_t`.
    pub fidelity: u32,
    /// Threads within one operator, at most 1024. 0 stands for 1.
    pub threads: u32,
    /// How much time and memory loading may take, as a multiple of the default for such a model. 0 stands for 1.
    pub load_budget: u32,
    /// 0.
    pub reserved: u32,
}
sized!(opscope_session_options_t, 24);

/// How many threads an operator may use.
const MOST_THREADS: u32 = 1024;

/// A session with its description for C.
pub struct LoadedSession {
    pub(crate) session: Session,
    description: OnceLock<Description>,
}

/// Reads an `.onnx` file and loads it into the embedded engine.
#[exported]
pub fn opscope_session_load(
    path: Text<'_>,
    options: SizedIn<'_, opscope_session_options_t>,
    session: Out<'_, opscope_session_t>,
) -> Result<(), Failure> {
    let session = session.place("session")?;
    let (path, options) = (path.path("path")?, load_options(options)?);
    let _call = use_engine()?;
    attach_once();
    let loaded = Session::open(&path, &options)?;
    session.write(LoadedSession::insert(loaded));
    Ok(())
}

/// Loads a model from memory, which is copied. External data is not found, because there is no file that it could be
/// beside.
#[exported]
pub fn opscope_session_load_memory(
    #[counted_by(length)] bytes: Bytes<'_>,
    length: usize,
    options: SizedIn<'_, opscope_session_options_t>,
    session: Out<'_, opscope_session_t>,
) -> Result<(), Failure> {
    let session = session.place("session")?;
    let (bytes, options) = (bytes.get("bytes")?, load_options(options)?);
    check_copy(bytes.len(), "bytes")?;
    let graph = Graph::from_bytes(Path::new("(memory)"), bytes.to_vec().into());
    let graph = graph.map_err(|error| Failure::new(OPSCOPE_ERROR_MODEL, error.to_string()))?;
    let _call = use_engine()?;
    attach_once();
    let loaded = Session::with_graph(Arc::new(graph), &options)?;
    session.write(LoadedSession::insert(loaded));
    Ok(())
}

/// Frees a session. Calls in progress continue, and the memory is released after them.
#[exported]
pub fn opscope_session_free(session: opscope_session_t) -> Result<(), Failure> {
    remove(session).map(drop)
}

impl LoadedSession {
    fn insert(session: Session) -> opscope_session_t {
        insert(Self { session, description: OnceLock::new() })
    }

    /// Returns the description of the session that C reads.
    pub(super) fn description(&self) -> &Description {
        self.description.get_or_init(|| Description::of(&self.session))
    }
}

fn load_options(options: SizedIn<'_, opscope_session_options_t>) -> Result<LoadOptions, Failure> {
    let options = options.get_or_default()?;
    let fidelity = fidelity(options.fidelity)?;
    if options.threads > MOST_THREADS {
        let text = format!("{} threads are more than the {MOST_THREADS} that an operator can use", options.threads);
        return Err(Failure::argument(text));
    }
    let threads = NonZeroUsize::new(options.threads as usize).unwrap_or(NonZeroUsize::MIN);
    let budget = LoadBudget::times(NonZeroU32::new(options.load_budget).unwrap_or(NonZeroU32::MIN));
    Ok(LoadOptions { budget, ..LoadOptions::new(fidelity, threads) })
}

pub(crate) fn fidelity(number: u32) -> Result<Fidelity, Failure> {
    constant(number, "opscope_fidelity_t", &[Fidelity::Optimised, Fidelity::Exact])
}

const _: () = assert!(opscope_fidelity_t::OPSCOPE_EXACT as u32 == 1);

/// The description of a session that C reads. It is created at the first query.
pub(crate) struct Description {
    pub info: [KeptText; 5],
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    pub operators: Vec<Operator>,
}

pub(crate) struct Value {
    pub name: KeptText,
    pub dims: Option<Vec<i64>>,
    pub dim_names: KeptTexts,
    pub dtype: u32,
}

pub(crate) struct Operator {
    pub name: KeptText,
    pub op_type: KeptText,
    pub domain: KeptText,
    pub inputs: KeptTexts,
    pub outputs: KeptTexts,
}

impl Description {
    pub fn of(session: &Session) -> Self {
        let (graph, engine) = (session.graph(), session.engine());
        let path = graph.source.path.display().to_string();
        let info = [&graph.name, &path, &graph.source.producer, engine.name(), engine.version()].map(KeptText::new);
        Self {
            info,
            inputs: graph.inputs.iter().map(|&id| Value::new(graph, id)).collect(),
            outputs: graph.outputs.iter().map(|&id| Value::new(graph, id)).collect(),
            operators: graph.all_operators().map(|operator| Operator::new(graph, operator)).collect(),
        }
    }
}

impl Value {
    fn new(graph: &Graph, id: ValueId) -> Self {
        let value = graph.value(id);
        let shape = value.shape.as_deref();
        Self {
            name: KeptText::new(&value.name),
            dims: shape.map(|shape| shape.iter().map(dim_size).collect()),
            dim_names: shape.unwrap_or_default().iter().map(dim_name).collect(),
            dtype: value.dtype.map_or(0, dtype_code),
        }
    }
}

impl Operator {
    fn new(graph: &Graph, operator: &opscope::onnx::Operator) -> Self {
        let name = |id: &Option<ValueId>| id.map(|id| KeptText::new(&graph.value(id).name));
        Self {
            name: KeptText::new(&operator.name),
            op_type: KeptText::new(&operator.op_type),
            domain: KeptText::new(&operator.domain),
            inputs: operator.inputs.iter().map(name).collect(),
            outputs: operator.outputs.iter().map(name).collect(),
        }
    }
}

fn dim_size(dim: &Dim) -> i64 {
    match dim {
        Dim::Fixed(size) => i64::try_from(*size).unwrap_or(i64::MAX),
        Dim::Symbol(_) => -1,
    }
}

fn dim_name(dim: &Dim) -> Option<KeptText> {
    match dim {
        Dim::Symbol(name) if !name.is_empty() => Some(KeptText::new(name)),
        _ => None,
    }
}
