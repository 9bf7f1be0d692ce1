use std::sync::Arc;

use opscope_tensor::Tensor;

use super::{FakePlan, GraphBuilder, floats, kernels};
use crate::Fidelity;

/// Returns a plan with a sum in a loop. `first` (Relu) computes `a` from the input `x`. The body of `Loop_0` begins
/// with a state of `[0, 10]`, and each iteration adds `a` and the weight `w`, `[1, 2]`, to it: `Loop_0/Add_0` (Sum)
/// computes `Loop_0/sum`, and in the branch of `Loop_0/If_0`, `Loop_0/If_0/Neg_0` (Neg) negates it. The loop returns
/// `a` as `y`.
pub fn looping(iterations: u32) -> FakePlan {
    let graph = GraphBuilder::new("looping")
        .input("x", &[2])
        .operator("first", "Relu", &["x"], &["a"])
        .operator("Loop_0", "Loop", &["a"], &["y"])
        .output("y")
        .body("Loop_0", "body")
        .input("state", &[2])
        .initializer("w", &[2])
        .operator("Add_0", "Sum", &["state", "a", "w"], &["sum"])
        .operator("If_0", "If", &["sum"], &["chosen"])
        .output("sum")
        .output("chosen")
        .body("Loop_0/If_0", "then_branch")
        .operator("Neg_0", "Neg", &["sum"], &["negative"])
        .output("negative")
        .build();
    let groups = [["first"], ["Loop_0"], ["Loop_0/Add_0"], ["Loop_0/If_0"], ["Loop_0/If_0/Neg_0"]];
    let mut kernels = kernels(&graph, &groups.each_ref().map(|group| &group[..])).to_vec();
    // The engine passes the sum on to the next iteration.
    let state = graph.value_named("Loop_0/state").expect("it was added").id;
    kernels[2].outputs[0].push(state);
    let two = |elements: [f32; 2]| Tensor::from_f32(vec![2], &elements).expect("two elements");
    FakePlan::new(&Arc::new(graph), kernels.into(), Fidelity::Exact, move |kernel, inputs| {
        let sum = inputs.iter().map(floats).fold([0.0; 2], |sum, more| [sum[0] + more[0], sum[1] + more[1]]);
        let sign = if kernel.op == "Neg" { -1.0 } else { 1.0 };
        Ok(vec![two(sum.map(|element| sign * element))])
    })
    .constant("Loop_0/state", two([0.0, 10.0]))
    .constant("Loop_0/w", two([1.0, 2.0]))
    .with_body(2..5, "Loop_0", iterations)
    .with_body(4..5, "Loop_0/If_0", 1)
}
