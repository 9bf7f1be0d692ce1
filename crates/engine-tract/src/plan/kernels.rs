//! The kernels of a plan: what tract executes, described with the file's names.

use std::collections::HashMap;
use std::sync::Arc;

use opscope_model::{Fidelity, Kernel, KernelId, KernelInput, TensorType};
use opscope_onnx::{Graph, ValueId};
use tract_onnx::prelude::{TypedFact, TypedModel};
use tract_onnx::tract_core::internal::{OutletId, TypedSimplePlan};
use tract_onnx::tract_core::ops::change_axes::{AxisOp, IntoShape};
use tract_onnx::tract_core::ops::konst::Const;
use tract_onnx::tract_core::ops::source::TypedSource;

use super::attribution::{Attributed, Step, attribute};
use super::live_values::Outlets;
use crate::optimise::provenance::Provenance;
use crate::{names, tensors};

/// Stands for nodes that are not kernels: inputs, which tract also "executes".
pub(crate) const NO_KERNEL: KernelId = KernelId::new(u32::MAX);

/// The kernels of a plan, and the locations of its values.
pub(crate) struct Kernels {
    /// The kernels in order of execution.
    pub kernels: Arc<[Kernel]>,
    /// The kernel of each of tract's nodes, or [`NO_KERNEL`].
    pub kernel_of: Vec<KernelId>,
    /// Where the file's inputs, and the values that its operators compute in a run, can be found.
    pub outlets: Outlets,
}

/// What is known about the values of a plan: see [`PreparedModel`](super::preparation::PreparedModel).
pub(crate) struct Values<'a> {
    pub values: &'a HashMap<OutletId, Vec<ValueId>>,
    pub carried: &'a Provenance,
    pub weights: &'a [(ValueId, OutletId)],
}

/// Returns the kernels of a plan, described with the file's names.
pub(crate) fn kernels(graph: &Graph, plan: &TypedSimplePlan, fidelity: Fidelity, prepared: &Values<'_>) -> Kernels {
    let Values { values, weights, .. } = *prepared;
    let model = plan.model();
    let mut kernel_of = vec![NO_KERNEL; model.nodes().len()];
    let mut executed = Vec::new();
    for &node in plan.order_without_consts() {
        // An input that an operator passes on unchanged (`Identity`) is also that operator's output. In this case it is
        // a kernel.
        let is_seen = !model.node(node).op_is::<TypedSource>() || values.keys().any(|outlet| outlet.node == node);
        if is_seen && !graph.operators.is_empty() {
            kernel_of[node] = KernelId::new(executed.len() as u32);
            executed.push(node);
        }
    }
    let steps: Vec<Step> = executed.iter().map(|&node| step(model, node, &kernel_of, prepared, graph)).collect();
    let Attributed { operators: attributions, made } = attribute(graph, &steps, fidelity);

    let mut value_at: HashMap<OutletId, ValueId> = HashMap::new();
    for (slot, outlet) in model.inputs.iter().enumerate() {
        // If inputs are baked in, the slots no longer match, but the names do.
        let name = &model.node(outlet.node).name;
        let by_name = graph.inputs.iter().copied().find(|&input| graph.value(input).name == *name);
        if let Some(input) = by_name.or(graph.inputs.get(slot).copied()) {
            value_at.insert(*outlet, input);
        }
    }
    let mut outlets: Outlets = value_at.iter().map(|(outlet, value)| (*value, *outlet)).collect();
    outlets.extend(values.iter().flat_map(|(outlet, values)| values.iter().map(|value| (*value, *outlet))));
    value_at.extend(weights.iter().map(|(value, outlet)| (*outlet, *value)));
    value_at.extend(values.iter().filter_map(|(outlet, values)| Some((*outlet, *values.first()?))));

    let kernels = executed.iter().zip(attributions).enumerate().map(|(index, (&id, operators))| {
        let node = model.node(id);
        let input = |outlet: &OutletId| KernelInput {
            value: value_at.get(outlet).copied(),
            constant: model.node(outlet.node).op_is::<Const>(),
        };
        let outputs: Vec<Vec<ValueId>> = (0..node.outputs.len())
            .map(|slot| values.get(&OutletId::new(id, slot)).cloned().unwrap_or_default())
            .collect();
        let holds = |(slot, named): (usize, &Vec<ValueId>)| {
            made[index].last().copied().filter(|_| slot == 0 && named.is_empty())
        };
        Kernel {
            id: KernelId::new(index as u32),
            holds: outputs.iter().enumerate().map(holds).collect(),
            name: names::restore(&node.name, graph),
            op: node.op.name().into_owned(),
            operators,
            inputs: node.inputs.iter().map(input).collect(),
            outputs,
            input_types: node
                .inputs
                .iter()
                .map(|outlet| tensor_type(&model.node(outlet.node).outputs[outlet.slot].fact))
                .collect(),
            output_types: node.outputs.iter().map(|output| tensor_type(&output.fact)).collect(),
        }
    });
    let kernels = kernels.collect();
    Kernels { kernels, kernel_of, outlets }
}

fn step(model: &TypedModel, id: usize, kernel_of: &[KernelId], prepared: &Values<'_>, graph: &Graph) -> Step {
    let node = model.node(id);
    let by_value = || {
        let value = *prepared.values.get(&OutletId::new(id, 0))?.first()?;
        match graph.value(value).producer {
            opscope_onnx::Producer::Operator(operator, _) => Some(operator),
            _ => None,
        }
    };
    // Initializers and inputs keep the file's names, which may look like one of this crate's.
    let decode = |name: &str| names::decode(name).filter(|operator| operator.index() < graph.operators.len());
    Step {
        op: node.op.name().into_owned(),
        named: decode(&node.name).or_else(by_value),
        feeds_from: node.inputs.iter().map(|outlet| kernel_of[outlet.node]).filter(|id| *id != NO_KERNEL).collect(),
        only_layout: node.op_is::<AxisOp>() || node.op_is::<IntoShape>(),
        made: (0..node.outputs.len())
            .filter_map(|slot| prepared.carried.get(&OutletId::new(id, slot)))
            .flat_map(|carried| carried.iter().map(|carried| carried.value))
            .collect(),
    }
}

fn tensor_type(fact: &TypedFact) -> TensorType {
    let shape = fact.shape.as_concrete().map(<[usize]>::to_vec);
    let is_plain = fact.exotic_fact.is_none() && shape.is_some();
    TensorType { dtype: tensors::dtype(fact.datum_type).filter(|_| is_plain), shape: shape.unwrap_or_default() }
}
