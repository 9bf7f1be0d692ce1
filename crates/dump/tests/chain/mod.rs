//! Chains of operators, each of which adds one.

use std::sync::Arc;

use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, floats, kernels};
use opscope_tensor::Tensor;

/// Returns a chain `x -> first -> second -> ...`, whose operators have these names. The output of each is the value
/// `<index>`. The last operator was computed at load.
pub fn chain_of(names: &[&str], shape: &[usize]) -> FakePlan {
    let (last, adding) = names.split_last().expect("one operator at least");
    let value = |index: usize| if index == 0 { "x".to_owned() } else { format!("value {index}") };
    let begin = GraphBuilder::new("chain").input("x", shape);
    let graph = adding
        .iter()
        .enumerate()
        .fold(begin, |graph, (index, name)| graph.operator(name, "AddOne", &[&value(index)], &[&value(index + 1)]));
    let constant = value(names.len());
    let graph = Arc::new(graph.operator(last, "Constant", &[], &[&constant]).output(&value(adding.len())).build());
    let groups: Vec<_> = adding.iter().map(std::slice::from_ref).collect();
    let data = Tensor::from_f32(vec![2], &[0.5, f32::NAN]).expect("two elements");
    FakePlan::new(&graph, kernels(&graph, &groups), Fidelity::Exact, |_, inputs| {
        let elements: Vec<f32> = floats(&inputs[0]).iter().map(|element| element + 1.0).collect();
        Ok(vec![Tensor::from_f32(inputs[0].shape().to_vec(), &elements).expect("the same shape")])
    })
    .constant(&constant, data)
}
