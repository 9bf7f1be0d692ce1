//! The costs of the kernels of a plan.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use opscope_onnx::{CostGraph, Graph, GroupCost, OperatorId, TensorInfo, ValueId, ValueTypes};

use super::{Kernel, TensorType};

/// Returns the cost of the operators that the kernels of a plan stand for.
///
/// Several kernels can stand for one operator, but the cost of each operator must count only once. So all kernels whose
/// time counts for the same operator are grouped, including everything that is fused into them, and one of them has the
/// cost of all. The others have `None`, and so do kernels that the engine added.
pub fn kernel_costs(graph: &Graph, kernels: &[Kernel]) -> Vec<Option<GroupCost>> {
    let types = ValueTypes::infer(graph, known_types(kernels));
    let costs = CostGraph::new(graph, &types);
    let mut of_kernels = vec![None; kernels.len()];
    for group in groups(kernels) {
        of_kernels[group.kernel] = Some(costs.cost(&group.operators));
    }
    of_kernels
}

/// Returns the types of the file's values that kernels take and compute.
fn known_types(kernels: &[Kernel]) -> HashMap<ValueId, TensorInfo> {
    let info = |kind: &TensorType| kind.dtype.map(|dtype| TensorInfo { dtype: Some(dtype), shape: kind.shape.clone() });
    let mut known = HashMap::new();
    for kernel in kernels {
        let taken = kernel.inputs.iter().zip(&kernel.input_types);
        let taken = taken.filter_map(|(input, kind)| Some((input.value?, info(kind)?)));
        let given = kernel.outputs.iter().zip(&kernel.output_types);
        let given = given.flat_map(|(values, kind)| values.iter().filter_map(|value| Some((*value, info(kind)?))));
        known.extend(taken.chain(given));
    }
    known
}

/// A group of operators with a common cost.
struct CostGroup {
    /// The kernel that has their cost.
    kernel: usize,
    operators: Vec<OperatorId>,
}

fn groups(kernels: &[Kernel]) -> Vec<CostGroup> {
    let mut groups: Vec<CostGroup> = Vec::new();
    // The group of each operator, at first only of those that the time of a kernel counts for.
    let mut of_operator: HashMap<OperatorId, usize> = HashMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        let Some(operator) = kernel.operator() else { continue };
        let group = *of_operator.entry(operator).or_insert_with(|| {
            groups.push(CostGroup { kernel: index, operators: vec![operator] });
            groups.len() - 1
        });
        // Among the kernels with the most operators, the last one has the outputs of the group.
        if kernel.operators.len() >= kernels[groups[group].kernel].operators.len() {
            groups[group].kernel = index;
        }
    }
    for kernel in kernels {
        let Some(group) = kernel.operator().map(|operator| of_operator[&operator]) else { continue };
        for fused in kernel.operators.iter().skip(1) {
            if let Entry::Vacant(vacant) = of_operator.entry(fused.operator) {
                vacant.insert(group);
                groups[group].operators.push(fused.operator);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{GraphBuilder, added_kernel, kernel};

    #[test]
    fn an_operator_costs_once_however_many_kernels_stand_for_it() {
        let graph = GraphBuilder::new("conv").input("x", &[1, 2, 8, 8]).initializer("w", &[2, 2, 1, 1]);
        let graph = graph.operator("conv", "Conv", &["x", "w"], &["c"]).operator("relu", "Relu", &["c"], &["y"]);
        let graph = graph.output("y").build();
        let kernels = [
            kernel(&graph, 0, &["conv"]),
            added_kernel(1, "to device", "Copy"),
            kernel(&graph, 2, &["conv", "relu"]),
            kernel(&graph, 3, &["conv"]),
        ];
        let costs = kernel_costs(&graph, &kernels);
        let with_cost: Vec<usize> = (0..4).filter(|index| costs[*index].is_some()).collect();
        assert_eq!(with_cost, [2]);
        let cost = costs[2].unwrap();
        // 128 elements, 2 channels, a multiplication and an addition; and 128 times Relu.
        assert_eq!(cost.flops, Some(128 * 2 * 2 + 128));
        // The value between convolution and Relu is neither written nor read.
        assert_eq!((cost.bytes_read, cost.bytes_written), (Some(128 * 4 + 4 * 4), Some(128 * 4)));
    }
}
