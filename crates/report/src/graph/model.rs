//! The operators and edges that are drawn.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use opscope_onnx::{Dim, Graph, Operator, Producer, TensorInfo, ValueId, ValueTypes, path_of_operator};
use opscope_tensor::DType;

/// A run's types of values, by name: the element type and the shape.
pub(crate) type KnownTypes = BTreeMap<String, (DType, Vec<usize>)>;

/// The part of a model that depends on its inputs. Operators that only compute constants are executed before a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelGraph {
    /// In an order in which each node comes after those whose outputs it takes.
    pub nodes: Vec<Node>,
    /// The values between them, one edge for each node that takes a value.
    pub edges: Vec<Edge>,
    /// How many operators only compute constants, and are not drawn.
    pub constant: usize,
}

/// An operator, or an input or output of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Its name in the file.
    pub name: String,
    /// Its type; `Input` or `Output`.
    pub op_type: String,
    pub kind: NodeKind,
    /// The modules that it is in, the outermost first. Concatenated, they are its path: `/encoder`, `/layer.3`.
    pub modules: Vec<String>,
    /// The line of the source that it comes from.
    pub source: Option<String>,
    /// The shapes of its inputs, without those of constants in the file.
    pub takes: Vec<String>,
    /// The shapes of its outputs, with the element type.
    pub gives: Vec<String>,
    /// The names of its outputs.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Input,
    Operator,
    Output,
}

/// A value from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Edge {
    pub from: usize,
    pub to: usize,
    /// Its index among the drawn values: the same for all edges of one value.
    pub value: usize,
    /// The value's shape, as in `1×64×56×56`; empty if it is unknown.
    pub shape: String,
}

impl ModelGraph {
    /// Returns the parts of a model that are drawn. `known` are the types in a run.
    pub(crate) fn of(graph: &Graph, known: &KnownTypes) -> Self {
        let values = graph.values.iter();
        let stated = values.filter_map(|value| {
            let (dtype, shape) = known.get(&value.name)?;
            Some((value.id, TensorInfo { dtype: Some(*dtype), shape: shape.clone() }))
        });
        let mut drawing = Drawing { graph, types: ValueTypes::infer(graph, stated), drawn: Self::default() };
        drawing.draw();
        drawing.drawn
    }
}

struct Drawing<'a> {
    graph: &'a Graph,
    types: ValueTypes,
    drawn: ModelGraph,
}

impl Drawing<'_> {
    fn draw(&mut self) {
        let graph = self.graph;
        // The node that computes a value, and the value's index.
        let mut given: HashMap<ValueId, (usize, usize)> = HashMap::new();
        for input in &graph.inputs {
            let node = Node { gives: vec![self.kind(*input)], ..self.end(*input, NodeKind::Input) };
            let next = given.len();
            given.insert(*input, (self.drawn.nodes.len(), next));
            self.drawn.nodes.push(node);
        }
        // A model without inputs only computes constants, so these are drawn.
        let draws_all = graph.inputs.is_empty();
        for operator in &graph.operators {
            let taken: Vec<ValueId> = operator.inputs.iter().flatten().chain(&operator.captures).copied().collect();
            if !draws_all && !taken.iter().any(|value| given.contains_key(value)) {
                self.drawn.constant += 1;
                continue;
            }
            let place = self.drawn.nodes.len();
            self.drawn.nodes.push(self.operator(operator));
            self.edges(&taken, place, &given);
            for output in operator.outputs.iter().flatten() {
                let next = given.len();
                given.insert(*output, (place, next));
            }
        }
        for output in &graph.outputs {
            if given.contains_key(output) {
                let place = self.drawn.nodes.len();
                let node = Node { takes: vec![self.kind(*output)], ..self.end(*output, NodeKind::Output) };
                self.drawn.nodes.push(node);
                self.edges(&[*output], place, &given);
            }
        }
    }

    fn edges(&mut self, taken: &[ValueId], to: usize, given: &HashMap<ValueId, (usize, usize)>) {
        let mut seen: Vec<ValueId> = Vec::new();
        for value in taken {
            if let Some((from, place)) = given.get(value)
                && !seen.contains(value)
            {
                seen.push(*value);
                self.drawn.edges.push(Edge { from: *from, to, value: *place, shape: self.shape(*value) });
            }
        }
    }

    fn operator(&self, operator: &Operator) -> Node {
        let is_data = |value: &&ValueId| self.graph.value(**value).producer != Producer::Initializer;
        Node {
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            kind: NodeKind::Operator,
            modules: modules(operator),
            source: operator.origin.as_ref().and_then(|origin| Some(origin.source.as_ref()?.to_string())),
            takes: operator.inputs.iter().flatten().filter(is_data).map(|value| self.shape(*value)).collect(),
            gives: operator.outputs.iter().flatten().map(|value| self.kind(*value)).collect(),
            values: operator.outputs.iter().flatten().map(|value| self.graph.value(*value).name.clone()).collect(),
        }
    }

    /// Returns the node for an input or an output of the model.
    fn end(&self, value: ValueId, kind: NodeKind) -> Node {
        let name = self.graph.value(value).name.clone();
        Node {
            op_type: if kind == NodeKind::Input { "Input" } else { "Output" }.to_owned(),
            kind,
            modules: Vec::new(),
            source: None,
            takes: Vec::new(),
            gives: Vec::new(),
            values: if kind == NodeKind::Input { vec![name.clone()] } else { Vec::new() },
            name,
        }
    }

    /// Returns a shape as in `1×64×56×56`; empty if it is unknown.
    fn shape(&self, value: ValueId) -> String {
        let sizes: Option<Vec<String>> = match self.types.get(value) {
            Some(info) => Some(info.shape.iter().map(usize::to_string).collect()),
            None => self.graph.value(value).shape.as_ref().map(|shape| shape.iter().map(Dim::to_string).collect()),
        };
        sizes.map_or_else(String::new, |sizes| if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("×") })
    }

    /// Returns the element type and the shape, as far as they are known.
    fn kind(&self, value: ValueId) -> String {
        let dtype = self.types.get(value).and_then(|info| info.dtype).or(self.graph.value(value).dtype);
        let dtype = dtype.map_or_else(String::new, |dtype| dtype.to_string());
        format!("{dtype} {}", self.shape(value)).trim().to_owned()
    }
}

/// Returns the parts of the path to an operator, the outermost first.
fn modules(operator: &Operator) -> Vec<String> {
    path_of_operator(&operator.name, operator.origin.as_ref()).into_iter().map(Cow::into_owned).collect()
}

impl Node {
    /// Returns the path of its modules, without the leading separator.
    pub(super) fn path(&self) -> String {
        without_separator(&self.modules.concat()).to_owned()
    }
}

/// Returns a path, or part of one, without its leading separator.
pub(super) fn without_separator(path: &str) -> &str {
    path.trim_start_matches(['/', '.'])
}
