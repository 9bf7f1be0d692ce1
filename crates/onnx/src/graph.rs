use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use opscope_tensor::DType;
use prost::bytes::Bytes;

/// An operator of a [`Graph`]: its place in the order of execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(u32);

/// A value of a [`Graph`]: a named edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(u32);

macro_rules! index {
    ($id:ident) => {
        impl $id {
            /// The id with this index.
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// The index, from zero.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
index!(OperatorId);
index!(ValueId);

/// The main graph of an `.onnx` file, checked: every value has one producer, and there is an order of execution.
#[derive(Debug, Clone)]
pub struct Graph {
    /// Where it came from.
    pub source: Source,
    /// The graph's own name in the file.
    pub name: String,
    /// Operators in an order in which they can be executed: that of the file, unless the file breaks ONNX's rule that it
    /// is sorted. Indexed by [`OperatorId`].
    pub operators: Vec<Operator>,
    /// Values: inputs, constants, and what operators produce. Indexed by [`ValueId`].
    pub values: Vec<Value>,
    /// What a run takes (initializers that are also listed as inputs are not among them).
    pub inputs: Vec<ValueId>,
    /// What a run gives.
    pub outputs: Vec<ValueId>,
    /// The version of each set of operators the file asks for. The ONNX operators' own domain is the empty string.
    pub opsets: BTreeMap<String, i64>,
}

/// The file behind a graph.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path, as the user gave it.
    pub path: PathBuf,
    /// The file's bytes.
    pub bytes: Bytes,
    /// XXH3 (64 bit) of the file's bytes.
    pub xxh3: u64,
    /// The program that wrote the file, with its version, where the file says so.
    pub producer: String,
}

/// One node of the graph.
#[derive(Debug, Clone)]
pub struct Operator {
    /// Its id.
    pub id: OperatorId,
    /// A name that no other operator has: the node's own, or `OpType_index` where it has none. A name that occurs twice
    /// gets the suffix `_2`, `_3`, ...
    pub name: String,
    /// `Conv`, `MatMul`, ...
    pub op_type: String,
    /// The set of operators it belongs to; empty for ONNX's own.
    pub domain: String,
    /// Inputs by slot. An optional input that is left out is `None`.
    pub inputs: Vec<Option<ValueId>>,
    /// Outputs by slot. An optional output that is left out is `None`.
    pub outputs: Vec<Option<ValueId>>,
    /// Values of this graph that a graph inside of the operator (a loop's body) uses.
    pub captures: Vec<ValueId>,
    /// Attributes, by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// The place of the node in the file, from zero.
    pub position: usize,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    /// Text; bytes that are not UTF-8 are replaced.
    String(String),
    Tensor(TensorInfo),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<String>),
    /// A graph inside of the operator (a loop's body), with the number of its operators.
    Graph {
        name: String,
        operators: usize,
    },
    /// Something this version does not show.
    Other,
}

/// A value of the graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its id.
    pub id: ValueId,
    /// Its name in the file.
    pub name: String,
    /// Who makes it.
    pub producer: Producer,
    /// Which operators take it, in order; one that takes it twice is listed twice.
    pub consumers: Vec<OperatorId>,
    /// The type of its elements, where the file says so.
    pub dtype: Option<DType>,
    /// Its shape, where the file says so.
    pub shape: Option<Vec<Dim>>,
}

/// Who makes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Producer {
    /// The user.
    Input,
    /// The file.
    Initializer,
    /// An operator, by this output slot.
    Operator(OperatorId, usize),
}

/// One dimension of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// A number.
    Fixed(usize),
    /// A name whose number is known when inputs are given. Empty where the file leaves it open without a name.
    Symbol(String),
}

/// Type and shape of a tensor in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorInfo {
    /// The type of its elements; none for types that are unknown here.
    pub dtype: Option<DType>,
    /// The shape.
    pub shape: Vec<usize>,
}

impl Graph {
    /// An operator by its id.
    pub fn operator(&self, id: OperatorId) -> &Operator {
        &self.operators[id.index()]
    }

    /// A value by its id.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The operator with this name.
    pub fn operator_named(&self, name: &str) -> Option<&Operator> {
        self.operators.iter().find(|operator| operator.name == name)
    }

    /// The operator whose name shares the longest beginning and end with this one, for messages about a name that is
    /// none; none where nothing is like it.
    pub fn nearest_operator(&self, name: &str) -> Option<&Operator> {
        let likeness = |other: &str| {
            let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
            let begin = name.bytes().zip(other.bytes()).take_while(same).count();
            let end = name.bytes().rev().zip(other.bytes().rev()).take_while(same).count();
            begin + end
        };
        let best = self.operators.iter().max_by_key(|operator| likeness(&operator.name))?;
        (likeness(&best.name) * 2 >= name.len()).then_some(best)
    }

    /// The value with this name.
    pub fn value_named(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.name == name)
    }

    /// Which values depend on the data of an input. What depends on an input's shape alone does not count.
    pub fn depends_on_input(&self) -> Vec<bool> {
        let mut depends = vec![false; self.values.len()];
        for input in &self.inputs {
            depends[input.index()] = true;
        }
        for operator in self.operators.iter().filter(|operator| operator.op_type != "Shape") {
            if operator.inputs.iter().flatten().chain(&operator.captures).any(|input| depends[input.index()]) {
                for output in operator.outputs.iter().flatten() {
                    depends[output.index()] = true;
                }
            }
        }
        depends
    }
}

impl Dim {
    /// Returns whether a shape leaves a dimension open.
    ///
    /// Exporters that leave one dimension open often write the sizes of their example into the others. So an open shape
    /// only says how many dimensions there are: an input with another size beside the open dimension may still run.
    pub fn any_open(shape: &[Dim]) -> bool {
        shape.iter().any(|dim| matches!(dim, Dim::Symbol(_)))
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Float(number) => write!(f, "{number}"),
            Attribute::Int(number) => write!(f, "{number}"),
            Attribute::String(text) => write!(f, "{text:?}"),
            Attribute::Tensor(tensor) => match tensor.dtype {
                Some(dtype) => write!(f, "{dtype} {:?}", tensor.shape),
                None => write!(f, "a tensor {:?}", tensor.shape),
            },
            Attribute::Floats(numbers) => write!(f, "{numbers:?}"),
            Attribute::Ints(numbers) => write!(f, "{numbers:?}"),
            Attribute::Strings(texts) => write!(f, "{texts:?}"),
            Attribute::Graph { name, operators } => write!(f, "graph {name:?} of {operators} operators"),
            Attribute::Other => f.write_str("of a type that is not shown"),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Fixed(dim) => write!(f, "{dim}"),
            Dim::Symbol(name) if name.is_empty() => f.write_str("?"),
            Dim::Symbol(name) => f.write_str(name),
        }
    }
}
