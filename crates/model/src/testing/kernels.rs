use std::sync::Arc;

use opscope_onnx::{Dim, Graph, Producer, ValueId};

use crate::{Attribution, Kernel, KernelId, KernelInput, TensorType};

/// Returns a plan's kernels, one for each of these groups of operators.
///
/// # Panics
/// If the graph has no operator with such a name.
pub fn kernels(graph: &Graph, groups: &[&[&str]]) -> Arc<[Kernel]> {
    groups.iter().enumerate().map(|(index, operators)| kernel(graph, index as u32, operators)).collect()
}

/// Returns the kernel that executes these operators one after another. Its inputs are those that the operators do not
/// compute themselves, and its outputs are those of the last operator. Its operation is the type of the first one.
///
/// # Panics
/// If the graph has no operator with such a name.
pub fn kernel(graph: &Graph, index: u32, operators: &[&str]) -> Kernel {
    let named = |name: &&str| graph.operator_named(name).unwrap_or_else(|| panic!("no operator is named '{name}'"));
    let operators: Vec<_> = operators.iter().map(named).collect();
    let is_inside = |value: &ValueId| operators.iter().any(|operator| operator.outputs.contains(&Some(*value)));
    let inputs = || operators.iter().flat_map(|operator| operator.inputs.iter().flatten()).filter(|id| !is_inside(id));
    let outputs = || operators.iter().next_back().into_iter().flat_map(|operator| operator.outputs.iter().flatten());
    let tensor = |id: &ValueId| TensorType { dtype: graph.value(*id).dtype, shape: shape(graph, *id) };
    let input =
        |id: &ValueId| KernelInput { value: Some(*id), constant: graph.value(*id).producer == Producer::Initializer };
    Kernel {
        id: KernelId::new(index),
        name: format!("kernel {index}"),
        op: operators[0].op_type.clone(),
        operators: operators.iter().map(|operator| Attribution { operator: operator.id, exact: true }).collect(),
        inputs: inputs().map(input).collect(),
        outputs: outputs().map(|id| vec![*id]).collect(),
        holds: outputs().map(|_| None).collect(),
        input_types: inputs().map(tensor).collect(),
        output_types: outputs().map(tensor).collect(),
    }
}

/// Returns a kernel that an engine adds on its own. It stands for no operator, and its inputs and outputs are not
/// values of the file.
pub fn added_kernel(index: u32, name: &str, op: &str) -> Kernel {
    Kernel {
        id: KernelId::new(index),
        name: name.to_owned(),
        op: op.to_owned(),
        operators: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        holds: Vec::new(),
        input_types: Vec::new(),
        output_types: Vec::new(),
    }
}

/// Returns the shape of a value, with 1 for dimensions that the file leaves open.
pub(super) fn shape(graph: &Graph, id: ValueId) -> Vec<usize> {
    let size = |dim: &Dim| match dim {
        Dim::Fixed(size) => *size,
        Dim::Symbol(_) => 1,
    };
    graph.value(id).shape.iter().flatten().map(size).collect()
}
