//! Models that are made to take the engine's time and memory: each runs, or is refused with a sentence.

use std::sync::Arc;

use opscope_model::{EngineError, Plan};

use crate::files::{FIDELITIES, load, run};
use crate::one_operator::{self, Draw};

struct Random(fastrand::Rng);

impl Draw for Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit)
    }
}

fn operators() -> Vec<String> {
    let mut names: Vec<String> = tract_onnx::onnx().op_register.0.keys().cloned().collect();
    names.sort();
    names
}

/// Plans a drawn model and runs it where its values are small.
fn outcome(seed: u64, operators: &[&str]) -> Vec<Result<(), EngineError>> {
    let mut random = Random(fastrand::Rng::with_seed(seed));
    let bytes = one_operator::draw(&mut random, operators);
    let Ok((graph, inputs)) = one_operator::with_zeros(bytes) else { return vec![] };
    let graph = Arc::new(graph);
    let is_small = |plan: &dyn Plan| {
        let types = plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
        types.map(|output| output.shape.iter().product::<usize>()).sum::<usize>() < 1 << 20
    };
    let attempt = |fidelity| {
        let plan = load(&graph, fidelity)?.plan(&inputs)?;
        if is_small(&*plan) { run(&*plan, &inputs).map(drop) } else { Ok(()) }
    };
    FIDELITIES.map(attempt).into()
}

#[test]
#[ignore = "a search by hand: OPSCOPE_SEEDS=FROM..TO"]
fn search() {
    let text = std::env::var("OPSCOPE_SEEDS").unwrap();
    let (from, to) = text.split_once("..").unwrap();
    let names = operators();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for seed in from.parse().unwrap()..to.parse::<u64>().unwrap() {
        std::fs::write(std::env::var("OPSCOPE_AT").unwrap(), seed.to_string()).unwrap();
        let start = std::time::Instant::now();
        let mut random = Random(fastrand::Rng::with_seed(seed));
        let bytes = one_operator::draw(&mut random, &names);
        if std::env::var_os("OPSCOPE_SHOW").is_some() {
            show(&bytes);
        }
        for outcome in outcome(seed, &names) {
            if let Err(error) = outcome {
                let text = error.to_string();
                if std::env::var_os("OPSCOPE_SHOW").is_some() {
                    println!("{seed}: {text}");
                }
                if matches!(error, EngineError::OverBudget { .. }) || text.contains('\n') || text.contains("opscope:") {
                    println!("BAD {seed}: {text}");
                    show(&bytes);
                    std::process::exit(3);
                }
            }
        }
        if start.elapsed().as_millis() > 1500 {
            println!("SLOW {seed}: {:?}", start.elapsed());
            show(&bytes);
        }
    }
}

fn show(bytes: &[u8]) {
    use prost::Message;
    let model = tract_onnx::pb::ModelProto::decode(bytes).unwrap();
    let graph = model.graph.unwrap();
    let node = &graph.node[0];
    println!("   {} {:?}", node.op_type, node.input);
    for a in &node.attribute {
        println!("   {} i={} ints={:?} f={} s={:?}", a.name, a.i, a.ints, a.f, String::from_utf8_lossy(&a.s));
    }
    for i in &graph.input {
        if let Some(tract_onnx::pb::type_proto::Value::TensorType(t)) = &i.r#type.as_ref().unwrap().value {
            println!(
                "   {} type {} {:?}",
                i.name,
                t.elem_type,
                t.shape.as_ref().unwrap().dim.iter().map(|d| d.value.clone()).collect::<Vec<_>>()
            );
        }
    }
    for t in &graph.initializer {
        println!("   {} {:?} {:?} {:?}", t.name, t.dims, t.int64_data, t.float_data);
    }
}

#[test]
#[ignore = "measure"]
fn measure() {
    use crate::builder::{Builder, D};
    use tract_onnx::pb::tensor_proto::DataType;
    let what = std::env::var("WHAT").unwrap();
    let n: usize = std::env::var("N").unwrap().parse().unwrap();
    let x = Builder::default().input("x", DataType::Float, &[D::N(2), D::N(3)]);
    let graph = match what.as_str() {
        "sum" | "max" | "concat" => {
            let names = vec!["x"; n];
            let (op, attributes) = match what.as_str() {
                "sum" => ("Sum", vec![]),
                "max" => ("Max", vec![]),
                _ => ("Concat", vec![crate::builder::int("axis", 0)]),
            };
            x.node_with("wide", op, &names, &["y"], attributes).output("y")
        }
        "chain" => {
            let mut graph = x;
            let mut last = "x".to_owned();
            for index in 0..n {
                let next = format!("v{index}");
                graph = graph.node(
                    if std::env::var_os("SAME").is_some() { "same" } else { "" },
                    "Relu",
                    &[&last],
                    &[&next],
                );
                last = next;
            }
            graph.output(&last)
        }
        _ => panic!(),
    };
    let t = std::time::Instant::now();
    let graph = graph.graph();
    println!("graph {:?}", t.elapsed());
    let inputs = [opscope_tensor::Tensor::from_f32(vec![2, 3], &[0.0; 6]).unwrap()];
    for fidelity in FIDELITIES {
        let t = std::time::Instant::now();
        let model = load(&graph, fidelity).unwrap();
        let t1 = t.elapsed();
        let plan = model.plan(&inputs);
        println!("{what} {n} {fidelity}: load {t1:?} total {:?} {:?}", t.elapsed(), plan.as_ref().err());
        let t = std::time::Instant::now();
        if let Ok(plan) = plan {
            run(&*plan, &inputs).unwrap();
            println!("run {:?}", t.elapsed())
        }
    }
}
