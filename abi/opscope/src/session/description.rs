use std::ffi::c_char;
use std::ptr;

use opscope::Session;
use opscope::onnx::{Dim, Graph, ValueId};

use crate::border::Text;
use crate::tensor::dtype_code;

/// What C reads about a session, made when it first asks.
pub struct Description {
    pub info: [Text; 5],
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    pub operators: Vec<Operator>,
}

pub struct Value {
    pub name: Text,
    pub dims: Option<Vec<i64>>,
    /// Keeps the names that `dim_name_pointers` points to.
    _dim_names: Vec<Option<Text>>,
    pub dim_name_pointers: Vec<*const c_char>,
    pub dtype: u32,
}

pub struct Operator {
    pub name: Text,
    pub op_type: Text,
    pub domain: Text,
    /// Keeps the names that the pointers point to.
    _names: Vec<Text>,
    pub inputs: Vec<*const c_char>,
    pub outputs: Vec<*const c_char>,
}

// SAFETY: the pointers point to texts beside them, which never change.
unsafe impl Send for Value {}
// SAFETY: as above.
unsafe impl Sync for Value {}
// SAFETY: as above.
unsafe impl Send for Operator {}
// SAFETY: as above.
unsafe impl Sync for Operator {}

impl Description {
    pub fn of(session: &Session) -> Self {
        let (graph, engine) = (session.graph(), session.engine());
        let path = graph.source.path.display().to_string();
        let info = [&graph.name, &path, &graph.source.producer, engine.name(), engine.version()].map(Text::new);
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
        let dim_names: Vec<Option<Text>> = shape.unwrap_or_default().iter().map(dim_name).collect();
        Self {
            name: Text::new(&value.name),
            dims: shape.map(|shape| shape.iter().map(dim_size).collect()),
            dim_name_pointers: dim_names.iter().map(pointer).collect(),
            _dim_names: dim_names,
            dtype: value.dtype.map_or(0, dtype_code),
        }
    }
}

impl Operator {
    fn new(graph: &Graph, operator: &opscope::onnx::Operator) -> Self {
        let name = |id: &Option<ValueId>| id.map(|id| Text::new(&graph.value(id).name));
        let inputs: Vec<Option<Text>> = operator.inputs.iter().map(name).collect();
        let outputs: Vec<Option<Text>> = operator.outputs.iter().map(name).collect();
        Self {
            name: Text::new(&operator.name),
            op_type: Text::new(&operator.op_type),
            domain: Text::new(&operator.domain),
            inputs: inputs.iter().map(pointer).collect(),
            outputs: outputs.iter().map(pointer).collect(),
            _names: inputs.into_iter().chain(outputs).flatten().collect(),
        }
    }
}

fn dim_size(dim: &Dim) -> i64 {
    match dim {
        Dim::Fixed(size) => i64::try_from(*size).unwrap_or(i64::MAX),
        Dim::Symbol(_) => -1,
    }
}

fn dim_name(dim: &Dim) -> Option<Text> {
    match dim {
        Dim::Symbol(name) if !name.is_empty() => Some(Text::new(name)),
        _ => None,
    }
}

fn pointer(text: &Option<Text>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), Text::as_ptr)
}
