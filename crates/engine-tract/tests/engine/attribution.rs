//! The operators of the file that kernels stand for.

use std::collections::{BTreeMap, BTreeSet};

use opscope_model::{Attribution, Fidelity, Kernel, Plan, RunId};
use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use crate::builder::{Builder, D};
use crate::files::{FIDELITIES, MODELS, graph, inputs, json, load, mismatch, planned, tensor};
use crate::values::Keep;

fn op_type<'a>(graph: &'a Graph, kernel: &Kernel) -> &'a str {
    &graph.operator(kernel.operator().unwrap()).op_type
}

fn is_matrix_kernel(kernel: &Kernel) -> bool {
    kernel.op == "Conv" || kernel.op.starts_with("OptMatMul") && !kernel.op.contains("Pack")
}

#[test]
fn every_operator_that_is_computed_in_runs_has_a_kernel() {
    for model in MODELS {
        for fidelity in FIDELITIES {
            let (graph, _, plan) = planned(model, fidelity);
            let mut missing: BTreeSet<_> = graph.operators.iter().map(|operator| operator.id).collect();
            for kernel in plan.kernels().iter() {
                assert!(!kernel.operators.is_empty());
                for attribution in &kernel.operators {
                    missing.remove(&attribution.operator);
                }
            }
            let expected = json(&format!("expected/{model}/index.json"));
            for id in missing {
                for &value in graph.operator(id).outputs.iter().flatten() {
                    let depends = &expected["values"][&graph.value(value).name]["depends_on"];
                    assert_ne!(depends, "data", "{model}, {fidelity}: '{}' has no kernel", graph.operator(id).name);
                }
            }
        }
    }
}

#[test]
fn matrix_kernels_count_for_matrix_operators_each_for_its_own() {
    for model in MODELS {
        let (graph, _, plan) = planned(model, Fidelity::Optimised);
        let mut credited = BTreeMap::new();
        for kernel in plan.kernels().iter().filter(|kernel| is_matrix_kernel(kernel)) {
            let op_type = op_type(&graph, kernel);
            assert!(["MatMul", "Gemm", "Conv"].contains(&op_type), "{model}: {} counts for {op_type}", kernel.name);
            *credited.entry(graph.operator(kernel.operator().unwrap()).name.as_str()).or_insert(0) += 1;
        }
        let matrix = graph.operators.iter().filter(|operator| ["MatMul", "Gemm", "Conv"].contains(&&*operator.op_type));
        let names: Vec<_> = matrix.map(|operator| operator.name.as_str()).collect();
        assert_eq!(credited.keys().copied().collect::<BTreeSet<_>>(), names.iter().copied().collect(), "{model}");
        assert!(credited.values().all(|&kernels| kernels == 1), "{model}: {credited:?}");
    }
}

#[test]
fn a_fused_kernel_stands_for_the_operators_between_the_values_that_it_takes_and_gives() {
    let (graph, _, plan) = planned("digits_cnn", Fidelity::Optimised);
    let conv = plan.kernels().iter().find(|kernel| is_matrix_kernel(kernel)).unwrap();
    let names = |kernel: &Kernel| {
        let name = |at: &Attribution| (graph.operator(at.operator).name.clone(), at.exact);
        kernel.operators.iter().map(name).collect::<Vec<_>>()
    };
    let fused = [("/conv1/Conv".to_owned(), true), ("/bn1/BatchNormalization".to_owned(), true)];
    assert_eq!(names(conv), fused, "the normalization is in the weights of {}", conv.name);
    let values = |kernel: &Kernel| -> Vec<String> {
        kernel.outputs.concat().iter().map(|&value| graph.value(value).name.clone()).collect()
    };
    assert_eq!(values(conv), ["/bn1/BatchNormalization_output_0"], "it is the normalization's, not the convolution's");
    let product = plan.kernels().iter().find(|kernel| op_type(&graph, kernel) == "Gemm" && is_matrix_kernel(kernel));
    let fused = [("/fc1/Gemm".to_owned(), true), ("/relu4/Relu".to_owned(), true)];
    assert_eq!(names(product.unwrap()), fused);
    assert_eq!(values(product.unwrap()), ["/relu4/Relu_output_0"]);

    let (graph, _, plan) = planned("tiny_transformer", Fidelity::Optimised);
    let bias = plan.kernels().iter().filter(|kernel| is_matrix_kernel(kernel)).find(|kernel| {
        kernel.operators.iter().any(|attribution| graph.operator(attribution.operator).op_type == "Add")
    });
    let bias = bias.expect("an addition is fused into a matrix kernel");
    assert_eq!(op_type(&graph, bias), "MatMul", "its time counts for the product");
}

#[test]
fn at_exact_fidelity_kernels_are_named_by_the_engine_and_give_each_value_once() {
    for model in MODELS {
        let (_, _, plan) = planned(model, Fidelity::Exact);
        let mut seen = BTreeSet::new();
        for kernel in plan.kernels().iter() {
            assert_eq!(kernel.operators.len(), 1, "{model}: {}", kernel.name);
            assert!(kernel.operators[0].exact, "{model}: {}", kernel.name);
            for &value in kernel.outputs.iter().flatten() {
                assert!(seen.insert(value));
            }
        }
    }
}

#[test]
fn odd_names_lead_to_their_own_operators() {
    for name in ["duplicate_names", "dotted_names", "odd_names", "path_names", "long_names"] {
        let graph = graph(&format!("fixtures/{name}.onnx"));
        let fixture = &json("fixtures/index.json")["fixtures"][name];
        let inputs = inputs(&graph, "fixtures/", &fixture["inputs"]);
        for fidelity in FIDELITIES {
            let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
            let reached: BTreeSet<_> = plan
                .kernels()
                .iter()
                .flat_map(|kernel| kernel.operators.iter().map(|attribution| attribution.operator))
                .collect();
            assert_eq!(reached.len(), graph.operators.len(), "{name}, {fidelity}");
        }
        let plan = load(&graph, Fidelity::Exact).unwrap().plan(&inputs).unwrap();
        for kernel in plan.kernels().iter() {
            let operator = graph.operator(kernel.operator().unwrap());
            assert!(kernel.name.starts_with(&operator.name), "{:?} stands for {:?}", kernel.name, operator.name);
            assert!(kernel.outputs.iter().flatten().all(|value| operator.outputs.contains(&Some(*value))));
        }
        assert_eq!(keep(&*plan, &inputs).len(), graph.operators.len(), "{name}: every value is seen");
    }
}

fn keep(plan: &dyn Plan, inputs: &[Tensor]) -> BTreeMap<opscope_onnx::ValueId, Tensor> {
    let keep = Keep::default();
    plan.run(RunId(0), &*plan.upload(inputs).unwrap(), &keep).unwrap();
    keep.0.into_inner().unwrap()
}

#[test]
fn names_in_the_file_that_look_like_the_engines_own_do_no_harm() {
    let weight = crate::builder::floats("opscope:4000000000", &[2], &[1.0, 2.0]);
    let graph = Builder::default()
        .input("opscope:77", tract_onnx::pb::tensor_proto::DataType::Float, &[D::N(2)])
        .initializer(weight)
        .node("opscope:1", "Identity", &["opscope:77"], &["opscope:unused:0"])
        .node("opscope:0", "Add", &["opscope:unused:0", "opscope:4000000000"], &["opscope:0.y"])
        .output("opscope:0.y")
        .graph();
    let inputs = [Tensor::from_f32(vec![2], &[3.0, 4.0]).unwrap()];
    for fidelity in FIDELITIES {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        let outputs = crate::files::run(&*plan, &inputs).unwrap();
        assert_eq!(outputs, [Tensor::from_f32(vec![2], &[4.0, 6.0]).unwrap()]);
        let last = plan.kernels().last().unwrap();
        assert_eq!(graph.operator(last.operator().unwrap()).op_type, "Add");
    }
}

#[test]
fn an_output_that_is_left_out_keeps_its_place() {
    let graph = Builder::default()
        .input("x", tract_onnx::pb::tensor_proto::DataType::Float, &[D::N(3)])
        .initializer(crate::builder::ints("k", &[1], &[1]))
        .node("top", "TopK", &["x", "k"], &["", "where"])
        .output("where")
        .graph();
    let inputs = [Tensor::from_f32(vec![3], &[1.0, 9.0, 4.0]).unwrap()];
    for fidelity in FIDELITIES {
        let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
        let outputs = crate::files::run(&*plan, &inputs).unwrap();
        assert_eq!(outputs, [Tensor::from_i64(vec![1], &[1]).unwrap()]);
    }
}

#[test]
fn a_value_that_is_an_output_and_used_further_is_seen_once_and_is_right() {
    let graph = graph("fixtures/shared_output.onnx");
    let inputs = [tensor("fixtures/shared_output.input.x.npy")];
    let plan = load(&graph, Fidelity::Exact).unwrap().plan(&inputs).unwrap();
    let kept = keep(&*plan, &inputs);
    let middle = &kept[&graph.value_named("middle").unwrap().id];
    assert_eq!(mismatch(middle, &tensor("fixtures/shared_output.output.middle.npy")), None);
}
