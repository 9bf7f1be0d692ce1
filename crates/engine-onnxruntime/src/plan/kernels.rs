//! The kernels of exact plans: the operators of the file.

use std::collections::HashMap;
use std::sync::Arc;

use opscope_model::{Attribution, Kernel, KernelId, KernelInput, TensorType};
use opscope_onnx::{Graph, Operator, OperatorId, ValueId};

use crate::rewrite::{Slot, Taps, is_constant};

/// Returns the kernels of a model with taps, without types, in order of execution. Those of a body follow the operator
/// that the body belongs to.
pub(super) fn exact(graph: &Graph, taps: &Taps, order: &[OperatorId]) -> Arc<[Kernel]> {
    let main = order.iter().map(|&id| graph.operator(id)).filter(|operator| !operator.is_constant());
    let mut order = Vec::new();
    main.for_each(|operator| add(graph, operator, &mut order));
    let kernels = order.into_iter().enumerate().map(|(index, operator)| kernel(graph, taps, index as u32, operator));
    kernels.collect()
}

/// Adds an operator, and then those of its bodies.
fn add<'a>(graph: &'a Graph, operator: &'a Operator, order: &mut Vec<&'a Operator>) {
    order.push(operator);
    for body in graph.bodies_of(operator.id) {
        let inner = graph.operators_of(body).iter().filter(|operator| !operator.is_constant());
        inner.for_each(|operator| add(graph, operator, order));
    }
}

fn kernel(graph: &Graph, taps: &Taps, index: u32, operator: &Operator) -> Kernel {
    let slots = |of: &HashMap<OperatorId, Vec<Slot>>| -> Vec<ValueId> {
        of.get(&operator.id).map(|slots| slots.iter().map(|slot| slot.value).collect()).unwrap_or_default()
    };
    let (inputs, outputs) = (slots(&taps.inputs), slots(&taps.outputs));
    Kernel {
        id: KernelId::new(index),
        name: operator.name.clone(),
        op: operator.op_type.clone(),
        operators: vec![Attribution { operator: operator.id, exact: true }],
        inputs: inputs
            .iter()
            .map(|&value| KernelInput { value: Some(value), constant: is_constant(graph, value) })
            .collect(),
        outputs: outputs.iter().map(|&value| vec![value]).collect(),
        holds: vec![None; outputs.len()],
        input_types: inputs.iter().map(|_| unknown()).collect(),
        output_types: outputs.iter().map(|_| unknown()).collect(),
    }
}

/// Returns the kernels with the types and shapes of their inputs and outputs.
pub(super) fn sized(kernels: &[Kernel], type_of: impl Fn(ValueId) -> TensorType) -> Arc<[Kernel]> {
    let of = |value: Option<ValueId>| value.map_or_else(unknown, &type_of);
    let sized = |kernel: &Kernel| Kernel {
        input_types: kernel.inputs.iter().map(|input| of(input.value)).collect(),
        output_types: kernel.outputs.iter().map(|values| of(values.first().copied())).collect(),
        ..kernel.clone()
    };
    kernels.iter().map(sized).collect()
}

fn unknown() -> TensorType {
    TensorType { dtype: None, shape: Vec::new() }
}
