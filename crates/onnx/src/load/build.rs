//! Builds a checked [`Graph`] from the messages of a file.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::{iter, mem};

use opscope_tensor::DType;

use super::constants::attributes;
use super::initializers::check_data;
use super::metadata::origin;
use super::names::UniqueNames;
use super::order::{Captures, execution_order};
use crate::graph::give_display_names;
use crate::proto::{DimensionProto, GraphProto, NodeProto, TensorTypeProto, ValueInfoProto, dimension};
use crate::{Body, Dim, Graph, OnnxError, Operator, OperatorId, Producer, Source, Value, ValueId};

/// Builds the graph and checks it.
pub(crate) fn build(source: Source, opsets: BTreeMap<String, i64>, proto: GraphProto) -> Result<Graph, OnnxError> {
    let path = source.path.clone();
    let invalid = |reason: String| OnnxError::Invalid { path: path.clone(), reason };
    check_data(&source, &proto)?;

    let mut builder = Builder::default();
    let main = builder.graph(&proto, Captures::of(&proto.node), None).map_err(&invalid)?;
    let described: HashSet<_> =
        proto.input.iter().filter(|input| tensor_type(input).is_some()).map(|input| &input.name).collect();
    if let Some(other) =
        main.inputs.iter().map(|id| &builder.values[id.index()].name).find(|name| !described.contains(name))
    {
        return Err(invalid(format!("input '{other}' is not a tensor")));
    }
    if main.outputs.is_empty() {
        return Err(invalid("the graph has no outputs".to_owned()));
    }
    let ends = (builder.operators.len(), builder.values.len());
    let bodies = builder.bodies(main.inner).map_err(&invalid)?;
    let (inputs, outputs) = (main.inputs, main.outputs);
    let Builder { mut operators, mut values, .. } = builder;
    give_display_names(operators.iter_mut());
    let (inner_operators, inner_values) = (operators.split_off(ends.0), values.split_off(ends.1));
    let name = proto.name;
    Ok(Graph {
        source,
        name,
        operators,
        values,
        inputs,
        outputs,
        bodies,
        inner_operators,
        inner_values,
        opsets,
        part: None,
    })
}

/// The operators and values that were added so far.
#[derive(Default)]
struct Builder<'a> {
    operators: Vec<Operator>,
    values: Vec<Value>,
    operator_names: UniqueNames,
    value_names: UniqueNames,
    scopes: Vec<Scope<'a>>,
}

/// The values of one graph, by their names in the file.
struct Scope<'a> {
    /// The scope around it. `None` for the main graph.
    outer: Option<usize>,
    values: HashMap<&'a str, ValueId>,
}

/// A graph that was added.
struct Added<'a> {
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    inner: Vec<Inner<'a>>,
}

/// A graph inside an operator that was added.
struct Inner<'a> {
    graph: &'a GraphProto,
    owner: OperatorId,
    attribute: &'a str,
    captures: Vec<Captures<'a>>,
    /// The scope around it.
    outer: usize,
}

impl<'a> Builder<'a> {
    /// Adds graphs inside operators, and the graphs inside those. Each graph comes before those inside it, so its ids
    /// are consecutive.
    fn bodies(&mut self, inner: Vec<Inner<'a>>) -> Result<Vec<Body>, String> {
        let mut waiting = VecDeque::from(inner);
        let mut bodies = Vec::new();
        while let Some(inner) = waiting.pop_front() {
            let (first_operator, first_value) = (self.next_operator(), self.next_value());
            let owner = self.operators[inner.owner.index()].name.clone();
            let added = self.graph(inner.graph, inner.captures, Some((&owner, inner.outer)));
            let added = added.map_err(|reason| format!("in '{}' of the node '{owner}', {reason}", inner.attribute))?;
            bodies.push(Body {
                owner: inner.owner,
                attribute: inner.attribute.to_owned(),
                inputs: added.inputs,
                outputs: added.outputs,
                operators: first_operator..self.next_operator(),
                values: first_value..self.next_value(),
            });
            waiting.extend(added.inner);
        }
        Ok(bodies)
    }

    /// Adds the main graph, or one inside an operator, with the operator's name and its scope.
    fn graph(
        &mut self,
        proto: &'a GraphProto,
        mut captures: Vec<Captures<'a>>,
        outer: Option<(&str, usize)>,
    ) -> Result<Added<'a>, String> {
        let owner = outer.map(|(owner, _)| owner);
        let scope = self.scopes.len();
        self.scopes.push(Scope { outer: outer.map(|(_, outer)| outer), values: HashMap::new() });
        let first_value = self.next_value();

        let initialized: HashSet<&str> = proto.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
        let mut inputs = Vec::new();
        for input in &proto.input {
            if input.name.is_empty() {
                return Err("an input has no name".to_owned());
            }
            if !initialized.contains(input.name.as_str()) {
                inputs.push(self.add_value(owner, &input.name, Producer::Input)?);
                self.describe(input);
            }
        }
        for tensor in &proto.initializer {
            let id = self.add_value(owner, &tensor.name, Producer::Initializer)?;
            let value = &mut self.values[id.index()];
            value.dtype = DType::from_onnx(tensor.data_type);
            value.shape = Some(tensor.dims.iter().map(|&dim| Dim::Fixed(dim.max(0) as usize)).collect());
        }
        if let Some(sparse) = proto.sparse_initializer.first() {
            let name = sparse.values.as_ref().map(|values| values.name.as_str()).unwrap_or_default();
            return Err(format!("tensor '{name}' is sparse, which is not supported; make it dense"));
        }

        let names = self.operator_names.of_nodes(owner, &proto.node);
        let order = execution_order(&proto.node, &captures).map_err(|cycle| cycle.describe(&names))?;
        let nodes = || order.iter().map(|&position| (position, &proto.node[position]));
        for (id, (_, node)) in (self.next_operator().index()..).zip(nodes()) {
            for (slot, name) in node.output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                self.add_value(owner, name, Producer::Operator(OperatorId::new(id as u32), slot))?;
            }
        }
        proto.value_info.iter().chain(&proto.output).for_each(|info| self.describe(info));

        let mut inner = Vec::new();
        for (position, node) in nodes() {
            let operator = self.operator(node, position, &names[position], &captures[position].names)?;
            for &value in operator.inputs.iter().flatten().chain(&operator.captures) {
                if value >= first_value {
                    self.values[value.index()].consumers.push(operator.id);
                }
            }
            let graphs = node.graphs().zip(mem::take(&mut captures[position].inner));
            let graph =
                |((attribute, graph), captures)| Inner { graph, owner: operator.id, attribute, captures, outer: scope };
            inner.extend(graphs.map(graph));
            self.operators.push(operator);
        }
        let outputs = proto.output.iter().map(|output| {
            self.find(&output.name).ok_or_else(|| format!("nothing computes the output '{}'", output.name))
        });
        Ok(Added { inputs, outputs: outputs.collect::<Result<_, _>>()?, inner })
    }

    fn next_operator(&self) -> OperatorId {
        OperatorId::new(self.operators.len() as u32)
    }

    fn next_value(&self) -> ValueId {
        ValueId::new(self.values.len() as u32)
    }

    /// Adds a value to the innermost scope.
    fn add_value(&mut self, owner: Option<&str>, name: &'a str, producer: Producer) -> Result<ValueId, String> {
        let id = self.next_value();
        let scope = self.scopes.last_mut().expect("a graph is being added");
        if scope.values.insert(name, id).is_some() {
            return Err(format!("the value '{name}' has two producers; every value needs exactly one"));
        }
        let name = self.value_names.of_value(owner, name);
        self.values.push(Value { id, name, producer, consumers: Vec::new(), dtype: None, shape: None });
        Ok(id)
    }

    /// Returns the value with this name in the last scope, or in the next one around it that has such a value.
    fn find(&self, name: &str) -> Option<ValueId> {
        let mut scopes = iter::successors(self.scopes.last(), |scope| Some(&self.scopes[scope.outer?]));
        scopes.find_map(|scope| scope.values.get(name).copied())
    }

    /// Stores the type and shape that the file states for a value of the last scope. Ignores an unknown name.
    fn describe(&mut self, info: &ValueInfoProto) {
        let scope = self.scopes.last().expect("a graph is being added");
        if let (Some(id), Some(tensor)) = (scope.values.get(info.name.as_str()), tensor_type(info)) {
            let value = &mut self.values[id.index()];
            value.dtype = value.dtype.or(DType::from_onnx(tensor.elem_type));
            value.shape = value.shape.take().or_else(|| shape(tensor));
        }
    }

    fn operator(&self, node: &NodeProto, position: usize, name: &str, captures: &[&str]) -> Result<Operator, String> {
        let find = |input: &str| {
            self.find(input).ok_or_else(|| format!("node '{name}' takes the value '{input}', which nothing computes"))
        };
        let slot = |value: &String| if value.is_empty() { Ok(None) } else { find(value).map(Some) };
        Ok(Operator {
            id: self.next_operator(),
            name: name.to_owned(),
            op_type: node.op_type.clone(),
            domain: onnx_domain(node.domain.clone()),
            inputs: node.input.iter().map(slot).collect::<Result<_, _>>()?,
            outputs: node.output.iter().map(slot).collect::<Result<_, _>>()?,
            captures: captures.iter().copied().map(find).collect::<Result<_, _>>()?,
            attributes: attributes(node),
            position,
            origin: origin(node),
        })
    }
}

fn tensor_type(info: &ValueInfoProto) -> Option<&TensorTypeProto> {
    info.r#type.as_ref()?.tensor_type.as_ref()
}

fn shape(tensor: &TensorTypeProto) -> Option<Vec<Dim>> {
    let dim = |dim: &DimensionProto| match &dim.value {
        Some(dimension::Value::Number(number)) if *number >= 0 => Dim::Fixed(*number as usize),
        // Some exporters write a question mark for every open size.
        Some(dimension::Value::Symbol(name)) if name != "?" => Dim::Symbol(name.clone()),
        _ => Dim::Symbol(String::new()),
    };
    Some(tensor.shape.as_ref()?.dim.iter().map(dim).collect())
}

/// `ai.onnx` is another spelling of the empty domain.
pub(crate) fn onnx_domain(domain: String) -> String {
    if domain == "ai.onnx" { String::new() } else { domain }
}
