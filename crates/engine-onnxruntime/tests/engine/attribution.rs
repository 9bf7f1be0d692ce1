//! The operators that the kernels of optimised plans stand for.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_model::{Fidelity, Kernel, is_matrix_operator};
use opscope_onnx::{Dim, Graph, Producer};
use opscope_tensor::Tensor;

use crate::files::runnable;
use crate::support::{beside, engine, load, models};

/// Returns every model of this directory, and those in the variable `OPSCOPE_MODELS`, which are separated by colons.
fn paths() -> Vec<PathBuf> {
    let given = std::env::var_os("OPSCOPE_MODELS");
    let given = given.iter().flat_map(std::env::split_paths);
    runnable().into_iter().chain(given).collect()
}

/// The inputs beside a model.
fn inputs(path: &Path, graph: &Graph) -> Vec<Tensor> {
    beside(path, "input", graph).into_iter().flatten().collect()
}

fn names<'a>(graph: &'a Graph, kernel: &Kernel) -> Vec<&'a str> {
    kernel.operators.iter().map(|part| graph.operator(part.operator).name.as_str()).collect()
}

/// Returns a line for each kernel, as people read them.
fn listed(graph: &Graph, kernels: &[Kernel]) -> String {
    let line = |kernel: &Kernel| {
        let parts = kernel.operators.iter().map(|part| {
            let operator = graph.operator(part.operator);
            format!("{} ({}){}", operator.name, operator.op_type, if part.exact { "" } else { "?" })
        });
        let parts = parts.collect::<Vec<_>>().join(", ");
        format!("{} {}: {parts} -> {:?}", kernel.op, kernel.name, kernel.output_types)
    };
    kernels.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the operators of the main graph that a run must execute: an output depends on them, they depend on an input,
/// and they are more than sizes, which are known where shapes are.
fn executed(graph: &Graph) -> Vec<usize> {
    let depends = graph.depends_on_input();
    let mut needed = vec![false; graph.operators.len()];
    let mut values = graph.outputs.clone();
    while let Some(value) = values.pop() {
        if let Some(Producer::Operator(id, _)) = graph.values.get(value.index()).map(|value| value.producer)
            && !std::mem::replace(&mut needed[id.index()], true)
        {
            let operator = graph.operator(id);
            values.extend(operator.inputs.iter().flatten().chain(&operator.captures));
        }
    }
    let is_computed = |operator: &&opscope_onnx::Operator| {
        operator.op_type != "Shape" && operator.outputs.iter().flatten().any(|output| depends[output.index()])
    };
    let computed = graph.operators.iter().filter(is_computed).map(|operator| operator.id.index());
    computed.filter(|id| needed[*id]).collect()
}

#[test]
fn every_operator_that_runs_is_in_one_kernel_and_matrix_operators_lead_theirs() {
    let Some(engine) = engine() else { return };
    for path in paths() {
        let model = load(&engine, &path, Fidelity::Optimised);
        let graph = model.graph();
        let plan = model.plan(&inputs(&path, graph)).unwrap();
        let kernels = plan.kernels();
        let mut homes: BTreeMap<usize, Vec<&Kernel>> = BTreeMap::new();
        for kernel in kernels.iter() {
            for part in &kernel.operators {
                homes.entry(part.operator.index()).or_default().push(kernel);
            }
            let leads = kernel.operator().is_some_and(|id| is_matrix_operator(graph.operator(id)));
            let has_matrix = kernel.operators.iter().any(|part| is_matrix_operator(graph.operator(part.operator)));
            assert_eq!(leads, has_matrix, "{}: {} {:?}", path.display(), kernel.name, names(graph, kernel));
        }
        let at = |operator: usize| &graph.operators[operator].name;
        for operator in executed(graph) {
            assert!(homes.contains_key(&operator), "{}: {} is nowhere", path.display(), at(operator));
        }
        for (operator, homes) in &homes {
            // A kernel that is one of several of its operator stands for nothing else.
            let alone = homes.iter().filter(|kernel| kernel.operators.len() == 1).count();
            assert!(
                homes.len() == 1 || alone + 1 >= homes.len(),
                "{}: {} is in {:?}",
                path.display(),
                at(*operator),
                homes.iter().map(|kernel| (&kernel.name, names(graph, kernel))).collect::<Vec<_>>()
            );
        }
        if std::env::var_os("OPSCOPE_LIST").is_some() {
            println!("{}\n{}", path.display(), listed(graph, kernels));
        }
    }
}

#[test]
fn kernels_have_the_types_and_shapes_of_their_plan() {
    let Some(engine) = engine() else { return };
    for path in paths() {
        let model = load(&engine, &path, Fidelity::Optimised);
        let graph = model.graph();
        let plan = model.plan(&inputs(&path, graph)).unwrap();
        for kernel in plan.kernels().iter() {
            for (values, kind) in kernel.outputs.iter().zip(&kernel.output_types) {
                for value in values.iter().map(|value| graph.value(*value)) {
                    let Some(shape) = value.shape.as_ref().filter(|_| kind.dtype.is_some()) else { continue };
                    assert_eq!(shape.len(), kind.shape.len(), "{}: {}", path.display(), value.name);
                    for (dim, size) in shape.iter().zip(&kind.shape) {
                        assert!(!matches!(dim, Dim::Fixed(fixed) if fixed != size), "{}: {dim} {size}", value.name);
                    }
                }
            }
        }
    }
}

fn kernels(model: &str) -> Option<(Arc<Graph>, Arc<[Kernel]>)> {
    let engine = engine()?;
    let path = models().join(model);
    let model = load(&engine, &path, Fidelity::Optimised);
    let plan = model.plan(&inputs(&path, model.graph())).unwrap();
    Some((Arc::clone(model.graph()), Arc::clone(plan.kernels())))
}

#[test]
fn a_transformer_is_attributed_to_its_operators() {
    let Some((graph, kernels)) = kernels("tiny_transformer.onnx") else { return };
    let mut types: HashMap<&str, usize> = HashMap::new();
    for kernel in kernels.iter().filter(|kernel| !kernel.operators.is_empty()) {
        *types.entry(graph.operator(kernel.operator().unwrap()).op_type.as_str()).or_default() += 1;
    }
    let all = graph.operators.iter().filter(|operator| operator.op_type == "MatMul").count();
    assert_eq!(types["MatMul"], all, "each leads a kernel: {types:?}");
    let fused = kernels.iter().find(|kernel| kernel.op == "FusedMatMul").expect("a scale is fused into a product");
    assert_eq!(fused.operators.len(), 2, "{:?}", names(&graph, fused));
    let normal = kernels.iter().find(|kernel| kernel.op == "LayerNormalization").expect("it is fused");
    assert_eq!(normal.operators.len(), 9, "{:?}", names(&graph, normal));
    assert!(kernels.iter().all(|kernel| !kernel.name.contains("opscope:")), "names are those of the file");
}

#[test]
fn conversions_of_layout_count_for_the_operator_that_they_serve_and_what_is_fused_into_a_convolution_does() {
    let Some((graph, kernels)) = kernels("digits_cnn.onnx") else { return };
    let mut conversions = 0;
    for kernel in kernels.iter() {
        if kernel.op.starts_with("Reorder") {
            conversions += 1;
            let [served] = kernel.operators[..] else { panic!("{}: {:?}", kernel.name, kernel.operators) };
            assert!(!served.exact, "which operator it serves is inferred");
            // The library lays out values for its convolutions and pools.
            let served = graph.operator(served.operator).op_type.as_str();
            let serves: &[&str] = if kernel.op == "ReorderInput" { &["Conv"] } else { &["Conv", "MaxPool"] };
            assert!(serves.contains(&served), "{} serves {served}", kernel.name);
            assert_eq!(kernel.output_types[0].shape.len(), 4, "{}", kernel.name);
        }
        if kernel.op == "Conv" {
            let types: Vec<_> =
                kernel.operators.iter().map(|part| graph.operator(part.operator).op_type.as_str()).collect();
            assert_eq!(types[0], "Conv", "{types:?}");
            assert!(types.contains(&"Relu"), "{types:?}");
            assert!(kernel.operators.iter().all(|part| part.exact), "{types:?}");
        }
    }
    assert!(conversions > 0 && kernels.iter().any(|kernel| kernel.op == "Conv"), "{}", listed(&graph, &kernels));
}
