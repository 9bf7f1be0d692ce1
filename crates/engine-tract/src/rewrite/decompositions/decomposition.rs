//! One operator that is being decomposed into others.

use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{AttributeProto, NodeProto, TensorProto};
use tract_onnx::tract_core::internal::{TractResult, bail};

/// The nodes that replace an operator.
pub(super) struct Decomposition<'a> {
    node: &'a NodeProto,
    /// The version of ONNX's own operators in the file.
    pub opset: i64,
    nodes: Vec<NodeProto>,
}

impl<'a> Decomposition<'a> {
    pub(super) fn of(node: &'a NodeProto, opset: i64) -> Self {
        Self { node, opset, nodes: Vec::new() }
    }

    pub(super) fn op_type(&self) -> &'a str {
        &self.node.op_type
    }

    /// Returns the name of an input; `None` if it is omitted.
    pub(super) fn given(&self, slot: usize) -> Option<&'a str> {
        self.node.input.get(slot).map(String::as_str).filter(|name| !name.is_empty())
    }

    pub(super) fn input(&self, slot: usize) -> TractResult<&'a str> {
        match self.given(slot) {
            Some(name) => Ok(name),
            None => bail!("{} needs its input {slot}", self.node.op_type),
        }
    }

    /// Returns the number of inputs, including omitted ones before the last.
    pub(super) fn inputs(&self) -> usize {
        self.node.input.len()
    }

    /// Returns whether an output is used.
    pub(super) fn has_output(&self, slot: usize) -> bool {
        self.node.output.get(slot).is_some_and(|name| !name.is_empty())
    }

    pub(super) fn refuse_inputs(&self, refused: &[(usize, &str)]) -> TractResult<()> {
        match refused.iter().find(|(slot, _)| self.given(*slot).is_some()) {
            Some((_, what)) => bail!("the engine has no {} with the input '{what}'", self.node.op_type),
            None => Ok(()),
        }
    }

    pub(super) fn refuse_outputs(&self, refused: &[usize]) -> TractResult<()> {
        match refused.iter().find(|slot| self.has_output(**slot)) {
            Some(slot) => bail!("the engine has no {} with its output {slot}", self.node.op_type),
            None => Ok(()),
        }
    }

    /// Refuses the operator if an attribute has any other value than this.
    pub(super) fn refuse_unless(&self, name: &str, expected: i64) -> TractResult<()> {
        match self.int(name, expected) == expected {
            true => Ok(()),
            false => bail!("the engine has no {} with the attribute '{name}'", self.node.op_type),
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        self.node.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |attribute| attribute.i)
    }

    pub(super) fn float(&self, name: &str, default: f32) -> f32 {
        self.attribute(name).map_or(default, |attribute| attribute.f)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.attribute(name).map(|attribute| String::from_utf8_lossy(&attribute.s).into_owned()).unwrap_or_default()
    }

    /// Returns copies of those attributes that the operator has.
    pub(super) fn attributes(&self, names: &[&str]) -> Vec<AttributeProto> {
        names.iter().filter_map(|name| self.attribute(name).cloned()).collect()
    }

    /// Adds a node with one output, and returns the output's name.
    pub(super) fn add(
        &mut self,
        what: &str,
        op_type: &str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
    ) -> String {
        self.add_all(what, op_type, inputs, attributes, 1).swap_remove(0)
    }

    /// Adds a node with several outputs.
    pub(super) fn add_all(
        &mut self,
        what: &str,
        op_type: &str,
        inputs: &[&str],
        attribute: Vec<AttributeProto>,
        outputs: usize,
    ) -> Vec<String> {
        let name = format!("{}.{what}", self.node.name);
        let output: Vec<String> = match outputs {
            1 => vec![self.value(what)],
            _ => (0..outputs).map(|slot| self.value(&format!("{what}{slot}"))).collect(),
        };
        self.push(name, op_type, inputs, output.clone(), attribute);
        output
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, what: &str, value: TensorProto) -> String {
        self.add(what, "Constant", &[], vec![tensor("value", value)])
    }

    /// Adds a scalar constant.
    pub(super) fn number(&mut self, what: &str, number: f32) -> String {
        self.constant(what, floats(&[], &[number]))
    }

    /// Adds the node for an output of the operator. The one for output 0 has the operator's name.
    pub(super) fn give(&mut self, slot: usize, op_type: &str, inputs: &[&str], attributes: Vec<AttributeProto>) {
        let Some(output) = self.node.output.get(slot).filter(|name| !name.is_empty()) else { return };
        let name = match slot {
            0 => self.node.name.clone(),
            _ => format!("{}.output{slot}", self.node.name),
        };
        self.push(name, op_type, inputs, vec![output.clone()], attributes);
    }

    /// Adds the node for all outputs of the operator.
    pub(super) fn give_all(&mut self, op_type: &str, inputs: &[&str], attributes: Vec<AttributeProto>) {
        self.push(self.node.name.clone(), op_type, inputs, self.node.output.clone(), attributes);
    }

    fn push(
        &mut self,
        name: String,
        op_type: &str,
        inputs: &[&str],
        output: Vec<String>,
        attribute: Vec<AttributeProto>,
    ) {
        let mut input: Vec<String> = inputs.iter().map(|&name| name.to_owned()).collect();
        while input.last().is_some_and(String::is_empty) {
            input.pop();
        }
        let op_type = op_type.to_owned();
        self.nodes.push(NodeProto { name, op_type, input, output, attribute, ..NodeProto::default() });
    }

    /// Returns a name for a value that the file does not have. It contains the name of a value that only this operator
    /// makes.
    fn value(&self, what: &str) -> String {
        let own = self.node.output.iter().find(|name| !name.is_empty()).unwrap_or(&self.node.name);
        format!("{own}.opscope.{what}")
    }

    /// Returns the nodes.
    ///
    /// # Errors
    ///
    /// Returns an error if the operator has outputs that no node provides.
    pub(super) fn finish(self) -> TractResult<Vec<NodeProto>> {
        let is_given =
            |output: &String| output.is_empty() || self.nodes.iter().any(|node| node.output.contains(output));
        match self.node.output.iter().position(|output| !is_given(output)) {
            Some(slot) => bail!("the engine has no {} with its output {slot}", self.node.op_type),
            None => Ok(self.nodes),
        }
    }
}

pub(super) fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Int as i32, i, ..named(name) }
}

pub(super) fn float(name: &str, f: f32) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Float as i32, f, ..named(name) }
}

pub(super) fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Ints as i32, ints: ints.to_vec(), ..named(name) }
}

pub(super) fn text(name: &str, text: &str) -> AttributeProto {
    AttributeProto { r#type: AttributeType::String as i32, s: text.into(), ..named(name) }
}

pub(super) fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { r#type: AttributeType::Tensor as i32, t: Some(value), ..named(name) }
}

fn named(name: &str) -> AttributeProto {
    AttributeProto { name: name.to_owned(), ..AttributeProto::default() }
}

pub(super) fn floats(shape: &[i64], values: &[f32]) -> TensorProto {
    let data_type = DataType::Float as i32;
    TensorProto { dims: shape.to_vec(), data_type, float_data: values.to_vec(), ..TensorProto::default() }
}

pub(super) fn whole_numbers(values: &[i64]) -> TensorProto {
    let data_type = DataType::Int64 as i32;
    let dims = vec![values.len() as i64];
    TensorProto { dims, data_type, int64_data: values.to_vec(), ..TensorProto::default() }
}

/// Returns the attribute of `Cast` for float32.
pub(super) fn to_float() -> Vec<AttributeProto> {
    vec![int("to", DataType::Float as i64)]
}
