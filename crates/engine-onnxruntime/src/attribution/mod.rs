//! The kernels of optimised plans: the nodes of the graph that a session runs, in terms of the file.

mod carried_values;
mod regions;
mod types;
mod written_graph;

use std::sync::Arc;

use opscope_model::{Attribution, Kernel, KernelId, KernelInput, TensorType};
use opscope_onnx::{Graph, ValueId};

use self::carried_values::Carrying;
use self::types::Types;
pub(crate) use self::written_graph::{Node, WrittenGraph};
use crate::names;
use crate::proto::ModelProto;

/// The nodes that a session runs, and the operators that each stands for.
pub(crate) struct Attributed {
    pub written: WrittenGraph,
    groups: Vec<Vec<Attribution>>,
}

impl Attributed {
    /// Finds what the nodes of a written graph stand for.
    pub fn new(graph: &Graph, written: &ModelProto) -> Self {
        let written = WrittenGraph::read(graph, written);
        let groups = regions::attribute(graph, &written, &Carrying::find(graph, &written));
        Self { written, groups }
    }

    /// Returns the kernels of a plan, given the types of the file's values.
    pub fn kernels(&self, graph: &Graph, of_value: impl Fn(ValueId) -> TensorType) -> Arc<[Kernel]> {
        let carrying = Carrying::find(graph, &self.written);
        let types = Types { graph, written: &self.written, carrying: &carrying, of_value };
        let kernel = |(index, (node, operators)): (usize, (&Node, &Vec<Attribution>))| {
            let outputs: Vec<&String> = node.given().collect();
            let taken = || node.inputs.iter().filter(|name| !name.is_empty());
            let value = |tensor: &str| self.written.value(graph, tensor);
            let held = |output: &str| -> Option<ValueId> {
                carrying.tensors.get(output).filter(|carried| !carried.same).map(|carried| carried.value)
            };
            Kernel {
                id: KernelId::new(index as u32),
                name: match node.name.is_empty() {
                    true => format!("{}_{index}", node.op_type),
                    false => names::restore(&node.name, graph),
                },
                op: node.op_type.clone(),
                operators: operators.clone(),
                inputs: taken()
                    .map(|name| KernelInput { value: value(name), constant: self.written.constants.contains(name) })
                    .collect(),
                outputs: outputs.iter().map(|name| value(name).into_iter().collect()).collect(),
                holds: outputs.iter().map(|name| held(name)).collect(),
                input_types: taken().map(|name| types.of(name)).collect(),
                output_types: outputs.iter().map(|name| types.of_output(node, name)).collect(),
            }
        };
        self.written.nodes.iter().zip(&self.groups).enumerate().map(kernel).collect()
    }
}
