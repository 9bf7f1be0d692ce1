use std::collections::BTreeMap;
use std::path::PathBuf;

use opscope_onnx::{Attribute, Dim, Graph, Operator, OperatorId, Producer, Source, Value, ValueId};
use opscope_tensor::DType;

/// A graph in the making. Values and operators get their ids in the order in which they are named.
///
/// Every value is of `f32`. What an operator computes has the shape of its first input, as element-wise operators do.
#[derive(Debug)]
pub struct GraphBuilder(Graph);

impl GraphBuilder {
    /// Begins a graph of this name, from the file `<name>.onnx`.
    pub fn new(name: &str) -> Self {
        let path = PathBuf::from(format!("{name}.onnx"));
        Self(Graph {
            source: Source { path, bytes: Default::default(), xxh3: 0, producer: "a test".to_owned() },
            name: name.to_owned(),
            operators: Vec::new(),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            opsets: BTreeMap::new(),
        })
    }

    /// Adds an input of the model.
    pub fn input(mut self, name: &str, shape: &[usize]) -> Self {
        let shape = shape.iter().copied().map(Dim::Fixed).collect();
        let id = self.value(name, Producer::Input, Some(shape));
        self.0.inputs.push(id);
        self
    }

    /// Adds a weight.
    pub fn initializer(mut self, name: &str, shape: &[usize]) -> Self {
        let shape = shape.iter().copied().map(Dim::Fixed).collect();
        self.value(name, Producer::Initializer, Some(shape));
        self
    }

    /// Adds an operator of type `op_type` that takes these values and computes those. An input without a name is one
    /// that is omitted.
    ///
    /// # Panics
    /// If no value has the name of an input.
    pub fn operator(mut self, name: &str, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        let id = OperatorId::new(self.0.operators.len() as u32);
        let inputs: Vec<_> = inputs.iter().map(|name| (!name.is_empty()).then(|| self.named(name))).collect();
        for input in inputs.iter().flatten() {
            self.0.values[input.index()].consumers.push(id);
        }
        let shape = inputs.iter().flatten().next().and_then(|input| self.0.value(*input).shape.clone());
        let output = |(slot, name): (usize, &&str)| Some(self.value(name, Producer::Operator(id, slot), shape.clone()));
        let outputs = outputs.iter().enumerate().map(output).collect();
        self.0.operators.push(Operator {
            id,
            name: name.to_owned(),
            op_type: op_type.to_owned(),
            domain: String::new(),
            inputs,
            outputs,
            captures: Vec::new(),
            attributes: BTreeMap::new(),
            position: id.index(),
        });
        self
    }

    /// Gives every operator so far an attribute.
    pub fn attribute(mut self, name: &str, value: &Attribute) -> Self {
        for operator in &mut self.0.operators {
            operator.attributes.insert(name.to_owned(), value.clone());
        }
        self
    }

    /// Makes a value an output of the model.
    ///
    /// # Panics
    /// If no value has this name.
    pub fn output(mut self, name: &str) -> Self {
        let id = self.named(name);
        self.0.outputs.push(id);
        self
    }

    /// Returns the graph. The number of its operators stands for the hash of its file.
    pub fn build(mut self) -> Graph {
        self.0.source.xxh3 = self.0.operators.len() as u64;
        self.0
    }

    fn value(&mut self, name: &str, producer: Producer, shape: Option<Vec<Dim>>) -> ValueId {
        let id = ValueId::new(self.0.values.len() as u32);
        let (name, dtype) = (name.to_owned(), Some(DType::F32));
        self.0.values.push(Value { id, name, producer, consumers: Vec::new(), dtype, shape });
        id
    }

    fn named(&self, name: &str) -> ValueId {
        self.0.value_named(name).unwrap_or_else(|| panic!("no value so far is named '{name}'")).id
    }
}
