use opscope::Session;
use opscope::onnx::{Dim, Graph, ValueId};

use crate::border::{KeptText, KeptTexts};
use crate::tensor::dtype_code;

/// The description of a session that C reads. It is created at the first query.
pub struct Description {
    pub info: [KeptText; 5],
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    pub operators: Vec<Operator>,
}

pub struct Value {
    pub name: KeptText,
    pub dims: Option<Vec<i64>>,
    pub dim_names: KeptTexts,
    pub dtype: u32,
}

pub struct Operator {
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
