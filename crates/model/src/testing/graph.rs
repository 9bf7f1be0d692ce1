use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_onnx::{Attribute, Body, Dim, Graph, Operator, OperatorId, Producer, Source, Value, ValueId};
use opscope_tensor::{DType, Digest};

/// A builder of graphs. Values and operators get their ids in the order in which they are added.
///
/// Every value is of type `f32`. Outputs of an operator have the shape of its first input, as those of element-wise
/// operators do.
#[derive(Debug)]
pub struct GraphBuilder {
    graph: Graph,
}

impl GraphBuilder {
    /// Begins a graph of this name, from the file `<name>.onnx`.
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(format!("{name}.onnx"));
        let graph = Graph {
            source: Source { path, bytes: Default::default(), xxh3: Digest(0), producer: "a test".to_owned() },
            name: name.to_owned(),
            operators: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            bodies: Vec::new(),
            inner_operators: Vec::new(),
            inner_values: Vec::new(),
            opsets: BTreeMap::new(),
            part: None,
        };
        Self { graph }
    }

    /// Adds an input of the model, or of the current body.
    pub fn input(mut self, name: &str, shape: &[usize]) -> Self {
        let shape = shape.iter().copied().map(Dim::Fixed).collect();
        let id = self.value(name, Producer::Input, Some(shape));
        match self.graph.bodies.last_mut() {
            Some(body) => body.inputs.push(id),
            None => self.graph.inputs.push(id),
        }
        self
    }

    /// Adds a weight.
    pub fn initializer(mut self, name: &str, shape: &[usize]) -> Self {
        let shape = shape.iter().copied().map(Dim::Fixed).collect();
        self.value(name, Producer::Initializer, Some(shape));
        self
    }

    /// Adds an operator of type `op_type` with these inputs and outputs. An input without a name is omitted.
    ///
    /// # Panics
    /// If no value has the name of an input.
    pub fn operator(mut self, name: &str, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        let id = OperatorId::new(self.graph.all_operators().count() as u32);
        let inputs: Vec<_> = inputs.iter().map(|name| (!name.is_empty()).then(|| self.named(name))).collect();
        let first = self.graph.bodies.last().map_or(ValueId::new(0), |body| body.values.start);
        let main = self.graph.values.len();
        for input in inputs.iter().flatten().filter(|input| **input >= first) {
            match input.index().checked_sub(main) {
                None => self.graph.values[input.index()].consumers.push(id),
                Some(inner) => self.graph.inner_values[inner].consumers.push(id),
            }
        }
        let shape = inputs.iter().flatten().next().and_then(|input| self.graph.value(*input).shape.clone());
        let output = |(slot, name): (usize, &&str)| Some(self.value(name, Producer::Operator(id, slot), shape.clone()));
        let outputs = outputs.iter().enumerate().map(output).collect();
        let (name, op_type) = (self.inside(name), op_type.to_owned());
        let position = id.index() - self.graph.bodies.last().map_or(0, |body| body.operators.start.index());
        let (domain, captures, attributes) = (String::new(), Vec::new(), BTreeMap::new());
        let operator =
            Operator { id, name, op_type, domain, inputs, outputs, captures, attributes, position, origin: None };
        match self.graph.bodies.last_mut() {
            Some(body) => {
                body.operators.end = OperatorId::new(id.index() as u32 + 1);
                self.graph.inner_operators.push(operator);
            }
            None => self.graph.operators.push(operator),
        }
        self
    }

    /// Begins a body of an operator. Everything that is added from now on belongs to it, with names below the
    /// operator's. The main graph must be complete before its first body, and a body before its nested bodies.
    ///
    /// # Panics
    /// If no operator has this name.
    pub fn body(mut self, owner: &str, attribute: &str) -> Self {
        let named = self.graph.operator_named(owner);
        let owner = named.unwrap_or_else(|| panic!("no operator is named '{owner}'")).id;
        let operator = OperatorId::new(self.graph.all_operators().count() as u32);
        let value = ValueId::new(self.graph.all_values().count() as u32);
        self.graph.bodies.push(Body {
            owner,
            attribute: attribute.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            operators: operator..operator,
            values: value..value,
        });
        self
    }

    /// Adds an attribute to every operator so far.
    pub fn attribute(mut self, name: &str, value: &Attribute) -> Self {
        for operator in self.graph.operators.iter_mut().chain(&mut self.graph.inner_operators) {
            operator.attributes.insert(name.to_owned(), value.clone());
        }
        self
    }

    /// Makes a value an output of the model, or of the current body.
    ///
    /// # Panics
    /// If no value has this name.
    pub fn output(mut self, name: &str) -> Self {
        let id = self.named(name);
        match self.graph.bodies.last_mut() {
            Some(body) => body.outputs.push(id),
            None => self.graph.outputs.push(id),
        }
        self
    }

    /// Returns the graph. The number of its operators is used as the hash of its file.
    pub fn build(mut self) -> Graph {
        self.graph.source.xxh3 = Digest(self.graph.all_operators().count() as u64);
        self.graph
    }

    fn value(&mut self, name: &str, producer: Producer, shape: Option<Vec<Dim>>) -> ValueId {
        let id = ValueId::new(self.graph.all_values().count() as u32);
        let (name, dtype) = (self.inside(name), Some(DType::F32));
        let value = Value { id, name, producer, consumers: Vec::new(), dtype, shape };
        match self.graph.bodies.last_mut() {
            Some(body) => {
                body.values.end = ValueId::new(id.index() as u32 + 1);
                self.graph.inner_values.push(value);
            }
            None => self.graph.values.push(value),
        }
        id
    }

    /// Returns the full name of an item in the current body.
    fn inside(&self, name: &str) -> String {
        match self.graph.bodies.last() {
            Some(body) => format!("{}/{name}", self.graph.operator(body.owner).name),
            None => name.to_owned(),
        }
    }

    /// Returns the value with this name, in the innermost body that has one.
    fn named(&self, name: &str) -> ValueId {
        let owner = |body: &Body| self.graph.operator(body.owner);
        let around = |body: &&Body| self.graph.body_of(body.owner);
        let bodies = std::iter::successors(self.graph.bodies.last(), around);
        let mut names = bodies.map(|body| format!("{}/{name}", owner(body).name)).chain([name.to_owned()]);
        let found = names.find_map(|name| self.graph.value_named(&name));
        found.unwrap_or_else(|| panic!("no value so far is named '{name}'")).id
    }
}
