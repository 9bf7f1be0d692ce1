//! The value of the file that each tensor of the written graph carries.
//!
//! Most tensors keep the name of a value. Changes of layout put the library's own tensors between them, whose names say
//! nothing; what these carry follows from the node that computes them, or from the conversion behind it.

use std::collections::HashMap;

use opscope_model::{LAYOUT_OPERATORS, changes_layout};
use opscope_onnx::{Graph, Operator, OperatorId, Producer, ValueId};

use super::written_graph::{Node, WrittenGraph};
use crate::names;

/// The value that a tensor carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CarriedValue {
    pub value: ValueId,
    /// Whether the tensor equals the value in every element. Otherwise it has the value's elements in another layout,
    /// shape or type.
    pub same: bool,
    /// Whether the library's names and attributes say so; otherwise it was inferred.
    pub exact: bool,
}

/// The values that the tensors carry, and the nodes that only change a layout.
pub(crate) struct Carrying<'a> {
    pub tensors: HashMap<&'a str, CarriedValue>,
    /// For each node that only changes a layout, the operators of the file that do the same and that it stands for;
    /// often none.
    pub layouts: HashMap<usize, Vec<OperatorId>>,
}

/// Nodes that convert between the library's layouts, or copy between providers.
const CONVERSIONS: &[&str] = &["ReorderInput", "ReorderOutput", "MemcpyFromHost", "MemcpyToHost"];

impl<'a> Carrying<'a> {
    pub fn find(graph: &Graph, written: &'a WrittenGraph) -> Self {
        let mut carrying = Self { tensors: HashMap::new(), layouts: HashMap::new() };
        let outputs = written.nodes.iter().flat_map(Node::given);
        for tensor in written.nodes.iter().flat_map(|node| &node.inputs).chain(outputs).filter(|name| !name.is_empty())
        {
            if let Some(value) = written.value(graph, tensor) {
                carrying.tensors.insert(tensor, CarriedValue { value, same: true, exact: true });
            } else if let Some(value) = names::value(tensor).filter(|value| value.index() < graph.values.len()) {
                // For example, the value in another type.
                carrying.tensors.insert(tensor, CarriedValue { value, same: false, exact: true });
            }
        }
        carrying.follow_back(graph, written);
        carrying.follow_names(graph, written);
        carrying.follow_back(graph, written);
        carrying
    }

    /// Returns the value that the first output of a node carries.
    pub fn made_by(&self, node: &Node) -> Option<CarriedValue> {
        node.given().find_map(|output| self.tensors.get(output.as_str()).copied())
    }

    /// Follows values backwards through changes of layout.
    fn follow_back(&mut self, graph: &Graph, written: &'a WrittenGraph) {
        let named: Vec<OperatorId> = written.nodes.iter().filter_map(|node| named(graph, node)).collect();
        for (index, node) in written.nodes.iter().enumerate().rev().filter(|(_, node)| is_conversion(graph, node)) {
            let (Some(made), Some(from)) = (self.made_by(node), node.inputs.first()) else { continue };
            let mut value = made.value;
            let mut stands_for = Vec::new();
            // An operator of the file may have been merged into this node.
            while let Some(operator) = maker(graph, value).filter(|operator| does_the_same(node, operator)) {
                let Some(passed) = operator.inputs.first().copied().flatten().filter(|_| !named.contains(&operator.id))
                else {
                    break;
                };
                // The node takes the input of that operator.
                let is_taken = self.tensors.get(from.as_str()).is_some_and(|carried| carried.value == value);
                if is_taken {
                    break;
                }
                stands_for.push(operator.id);
                value = passed;
            }
            self.layouts.entry(index).or_insert(stands_for);
            self.tensors.entry(from).or_insert(CarriedValue { value, same: false, exact: made.exact });
        }
    }

    /// Attributes nodes to the value or the operator in their names.
    fn follow_names(&mut self, graph: &Graph, written: &'a WrittenGraph) {
        for (index, node) in written.nodes.iter().enumerate() {
            let Some(output) = node.given().next() else { continue };
            if self.tensors.contains_key(output.as_str()) {
                continue;
            }
            if is_conversion(graph, node) {
                let from = node.inputs.first().and_then(|input| self.tensors.get(input.as_str()).copied());
                self.layouts.entry(index).or_default();
                self.tensors.extend(from.map(|from| (output.as_str(), CarriedValue { same: false, ..from })));
                continue;
            }
            let by_value = names::value(&node.name).filter(|value| value.index() < graph.values.len());
            if let Some(value) = by_value {
                let value = extended(graph, node, value);
                self.tensors.insert(output, CarriedValue { value, same: false, exact: true });
            } else if let Some(operator) = named(graph, node).map(|id| graph.operator(id)) {
                // If the name has another suffix, it does not say what else was fused into the node.
                let exact = node.name == names::of_operator(operator.id);
                for (output, value) in node.outputs.iter().zip(&operator.outputs) {
                    let carried = value.map(|value| CarriedValue { value, same: false, exact });
                    self.tensors.extend(carried.map(|carried| (output.as_str(), carried)));
                }
            }
        }
    }
}

/// Follows a value through the addition and the activation that, according to a convolution's attributes, were fused
/// into it.
fn extended(graph: &Graph, node: &Node, value: ValueId) -> ValueId {
    const SUMMAND: usize = 3;
    let mut adds = node.inputs.get(SUMMAND).is_some_and(|name| !name.is_empty());
    let mut activation = node.activation.as_deref();
    let mut value = value;
    // The operator in the name already has its own activation.
    if maker(graph, value).is_some_and(|operator| Some(operator.op_type.as_str()) == activation) {
        activation = None;
    }
    while let [next] = graph.value(value).consumers[..] {
        let operator = graph.operator(next);
        let Some(&Some(output)) = operator.outputs.first() else { break };
        match operator.op_type.as_str() {
            "Add" | "Sum" if adds => adds = false,
            op_type if Some(op_type) == activation => activation = None,
            _ => break,
        }
        value = output;
    }
    value
}

/// Returns the operator that a node's name leads back to.
pub(crate) fn named(graph: &Graph, node: &Node) -> Option<OperatorId> {
    names::operator(&node.name).filter(|operator| operator.index() < graph.operators.len())
}

fn maker(graph: &Graph, value: ValueId) -> Option<&Operator> {
    match graph.value(value).producer {
        Producer::Operator(operator, _) => Some(graph.operator(operator)),
        _ => None,
    }
}

/// Returns whether a node changes a layout without being an operator of the file.
fn is_conversion(graph: &Graph, node: &Node) -> bool {
    let of_library = CONVERSIONS.contains(&node.op_type.as_str());
    let of_onnx = node.domain.is_empty() && (node.op_type == "Cast" || changes_shape(node));
    // A function of the file that the library has replaced by its nodes.
    let is_inlined = node.given().any(|output| output.starts_with("_inlfunc_"));
    of_library || of_onnx && !is_inlined && named(graph, node).is_none()
}

/// Returns whether an operator of the file changes a layout, or a type, as this node does.
fn does_the_same(node: &Node, operator: &Operator) -> bool {
    let casts = operator.domain.is_empty() && operator.op_type == "Cast";
    changes_shape(node) && changes_layout(operator) || node.op_type == "Cast" && casts
}

fn changes_shape(node: &Node) -> bool {
    LAYOUT_OPERATORS.contains(&node.op_type.as_str())
}
