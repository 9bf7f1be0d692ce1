use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use opscope_tensor::DType;
use opscope_tensor::Digest;
use prost::bytes::Bytes;

mod body;
mod origin;

pub use self::body::Body;
pub(crate) use self::origin::give_display_names;
pub use self::origin::{CodeOrigin, Module, SourceLine, TracedCall, modules_of_operator, path_of_operator};

/// The id of an operator: its position in the execution order of a [`Graph`]. The operators of bodies come after those
/// of the main graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperatorId(u32);

/// The id of a value, a named edge of a [`Graph`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(u32);

macro_rules! index {
    ($id:ident) => {
        impl $id {
            /// Creates the id with this index.
            pub const fn new(index: u32) -> Self {
                Self(index)
            }

            /// Returns the index, from zero.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
index!(OperatorId);
index!(ValueId);

/// The main graph of an `.onnx` file, and the graphs inside its operators. It is validated: every value has one
/// producer, and an order of execution exists.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The file it was read from.
    pub source: Source,
    /// The graph's own name in the file.
    pub name: String,
    /// The operators in order of execution, indexed by [`OperatorId`]. It is the order of the file, unless the file is
    /// not sorted as ONNX requires.
    pub operators: Vec<Operator>,
    /// The inputs, the constants and the operators' outputs, indexed by [`ValueId`].
    pub values: Vec<Value>,
    /// The inputs of a run. Initializers that the file also lists as inputs are not included.
    pub inputs: Vec<ValueId>,
    /// The outputs of a run.
    pub outputs: Vec<ValueId>,
    /// The graphs inside operators, at any depth, in the order of their operators.
    pub bodies: Vec<Body>,
    /// The operators of all bodies. Their ids continue those of `operators`.
    pub inner_operators: Vec<Operator>,
    /// The values of all bodies. Their ids continue those of `values`.
    pub inner_values: Vec<Value>,
    /// The version of each operator set that the file uses, by domain. ONNX's own domain is the empty string.
    pub opsets: BTreeMap<String, i64>,
    /// For a part of a model whose operators are found while it runs: the size of the parts before it. `None` for a
    /// whole graph.
    pub part: Option<Part>,
}

/// The place of a part of a graph. The ids of its operators and values continue those of the parts before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of operators before it.
    pub operators: u32,
    /// The number of values before it.
    pub values: u32,
}

/// The file that a graph was read from.
#[derive(Debug, Clone)]
pub struct Source {
    /// The path, as the user gave it.
    pub path: PathBuf,
    /// The file's bytes.
    pub bytes: Bytes,
    /// XXH3 (64 bit) of the file's bytes.
    pub xxh3: Digest,
    /// The program that wrote the file, with its version. Empty if the file does not say.
    pub producer: String,
}

/// One node of the graph.
#[derive(Debug, Clone)]
pub struct Operator {
    /// Its id.
    pub id: OperatorId,
    /// A name that no other operator of the file has: the node's own, or `OpType_index` if it has none. In a body, it
    /// begins with the name of the operator around it: `Loop_3/Add_0`. A repeated name gets the suffix `_2`, `_3`, ...
    pub name: String,
    /// The type, such as `Conv` or `MatMul`.
    pub op_type: String,
    /// The domain of its operator set. Empty for ONNX's own.
    pub domain: String,
    /// Inputs by slot. An omitted optional input is `None`.
    pub inputs: Vec<Option<ValueId>>,
    /// Outputs by slot. An omitted optional output is `None`.
    pub outputs: Vec<Option<ValueId>>,
    /// Values from outside that a graph inside the operator, such as a loop's body, uses. They belong to the graph that
    /// this operator is in, or to one around it.
    pub captures: Vec<ValueId>,
    /// Attributes, by name.
    pub attributes: BTreeMap<String, Attribute>,
    /// The position of the node in its graph in the file, from 0.
    pub position: usize,
    /// Its origin in the program that the file was exported from, or `None` if the file does not say.
    pub origin: Option<CodeOrigin>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Attribute {
    Float(f32),
    Int(i64),
    /// Text. Bytes that are not UTF-8 are replaced.
    String(String),
    Tensor(TensorInfo),
    Floats(Vec<f32>),
    Ints(Vec<i64>),
    Strings(Vec<String>),
    /// A graph inside the operator, such as a loop's body, with its number of operators.
    Graph {
        name: String,
        operators: usize,
    },
    /// An attribute of a type that is not shown.
    Other,
}

/// A value of the graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// Its id.
    pub id: ValueId,
    /// Its name in the file, which no other value has. In a body, it begins with the name of the operator around it:
    /// `Loop_3/sum`. A repeated name gets the suffix `_2`, `_3`, ...
    pub name: String,
    /// What produces it.
    pub producer: Producer,
    /// The operators of its own graph that take it, in order of execution. An operator that takes it twice is listed
    /// twice.
    pub consumers: Vec<OperatorId>,
    /// The element type, or `None` if the file does not give it.
    pub dtype: Option<DType>,
    /// The shape, or `None` if the file does not give it.
    pub shape: Option<Vec<Dim>>,
}

/// What produces a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Producer {
    /// The caller, who passes it as an input. For the input of a body, this is the operator around it.
    Input,
    /// The file, which holds its data.
    Initializer,
    /// An operator, at this output slot.
    Operator(OperatorId, usize),
}

/// One dimension of a shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dim {
    /// A fixed size.
    Fixed(usize),
    /// A name whose size is known once inputs are given. Empty if the file leaves the dimension open without a name.
    Symbol(String),
}

/// The type and shape of a tensor in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorInfo {
    /// The element type, or `None` if it is not known.
    pub dtype: Option<DType>,
    /// The shape.
    pub shape: Vec<usize>,
}

impl Graph {
    /// Returns an operator by its id, including those of bodies.
    ///
    /// # Panics
    /// If the file has no operator with this id.
    pub fn operator(&self, id: OperatorId) -> &Operator {
        let place = id.index() - self.part.map_or(0, |part| part.operators as usize);
        match place.checked_sub(self.operators.len()) {
            None => &self.operators[place],
            Some(inner) => &self.inner_operators[inner],
        }
    }

    /// Returns a value by its id, including those of bodies.
    ///
    /// # Panics
    /// If the file has no value with this id.
    pub fn value(&self, id: ValueId) -> &Value {
        let place = id.index() - self.part.map_or(0, |part| part.values as usize);
        match place.checked_sub(self.values.len()) {
            None => &self.values[place],
            Some(inner) => &self.inner_values[inner],
        }
    }

    /// Returns the operator with this name in the file or this display name, including those of bodies.
    pub fn operator_named(&self, name: &str) -> Option<&Operator> {
        let by_name = self.all_operators().find(|operator| operator.name == name);
        by_name.or_else(|| self.all_operators().find(|operator| operator.display_name() == name))
    }

    /// Returns the operator whose name or display name shares the longest beginning and end with `name`, for messages
    /// about an unknown name. Returns `None` if no name is similar.
    pub fn nearest_operator(&self, name: &str) -> Option<&Operator> {
        let likeness = |other: &str| {
            let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
            let begin = name.bytes().zip(other.bytes()).take_while(same).count();
            let end = name.bytes().rev().zip(other.bytes().rev()).take_while(same).count();
            begin + end
        };
        let likeness = |operator: &Operator| likeness(&operator.name).max(likeness(operator.display_name()));
        let best = self.all_operators().max_by_key(|operator| likeness(operator))?;
        (likeness(best) * 2 >= name.len()).then_some(best)
    }

    /// Returns the value with this name, including those of bodies.
    pub fn value_named(&self, name: &str) -> Option<&Value> {
        self.all_values().find(|value| value.name == name)
    }

    /// Returns for each value of the main graph whether it depends on the data of an input. Depending on an input's
    /// shape does not count.
    pub fn depends_on_input(&self) -> Vec<bool> {
        let mut depends = vec![false; self.values.len()];
        for input in &self.inputs {
            depends[input.index()] = true;
        }
        for operator in self.operators.iter().filter(|operator| !matches!(&*operator.op_type, "Shape" | "Size")) {
            if operator.inputs.iter().flatten().chain(&operator.captures).any(|input| depends[input.index()]) {
                for output in operator.outputs.iter().flatten() {
                    depends[output.index()] = true;
                }
            }
        }
        depends
    }
}

impl Operator {
    /// Returns its name for people: `layers.0.c1 (Conv)` if the file says which module it is in, else its name.
    pub fn display_name(&self) -> &str {
        self.origin.as_ref().map_or(&self.name, |origin| &origin.display_name)
    }

    /// Returns the names by which patterns find it: its name, its display name, and the paths of the modules that it is
    /// in.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let modules = self.origin.iter().flat_map(|origin| origin.modules.iter().map(|module| module.path.as_str()));
        let display_name = self.origin.as_ref().map(|origin| origin.display_name.as_str());
        std::iter::once(self.name.as_str()).chain(display_name).chain(modules)
    }

    /// Returns whether it is ONNX's `Constant`, which computes nothing.
    pub fn is_constant(&self) -> bool {
        self.op_type == "Constant" && self.domain.is_empty()
    }
}

impl Dim {
    /// Returns whether a shape leaves a dimension open.
    ///
    /// Exporters that leave one dimension open often write the sizes of their example into the others. An open shape
    /// therefore only fixes the number of dimensions: an input that differs in another dimension may still run.
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
