//! The numbers of dumps: in files, in judgements and of limits, against values that were computed by hand or by other
//! programs.

mod ascend;
#[path = "../chain/mod.rs"]
mod chain;
mod delivery;
mod files;
mod judgement;
mod matching;
mod quantised;
mod statistics;
mod summaries;

use std::path::Path;
use std::sync::Arc;

use opscope_dump::{Delivery, DumpReport, Dumper, IoSelection, Request, Selection, Sink};
use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_tensor::{Tensor, npy};

/// Returns a plan of one operator with this type, `op`, which returns these tensors.
fn giving(op_type: &str, tensors: Vec<Tensor>) -> FakePlan {
    let names: Vec<String> = (0..tensors.len()).map(|slot| format!("y{slot}")).collect();
    let outputs: Vec<&str> = names.iter().map(String::as_str).collect();
    let graph = GraphBuilder::new("one").input("x", &[4]).operator("op", op_type, &["x"], &outputs).output("y0");
    let graph = Arc::new(graph.build());
    let kernels = kernels(&graph, &[&["op"]]);
    FakePlan::new(&graph, kernels, Fidelity::Exact, move |_, _| Ok(tensors.clone()))
}

/// Dumps the outputs of `runs` runs.
fn run_into(plan: &FakePlan, sink: Box<dyn Sink>, runs: u64) -> DumpReport {
    let dumper = Dumper::new();
    let selection = Selection { io: IoSelection::Outputs, ..Selection::default() };
    let request = Request { selection, delivery: Some(Delivery::Direct), ..Request::default() };
    dumper.subscribe(sink, request).unwrap();
    dumper.add_plan(plan, plan).unwrap();
    for run in 0..runs {
        plan.run_with(&dumper, run).unwrap();
    }
    dumper.finish().unwrap()
}

fn floats(values: &[f32]) -> Tensor {
    Tensor::from_f32(vec![values.len()], values).unwrap()
}

/// Writes a directory of arrays, each with the name of a value.
fn arrays(root: &Path, values: &[(&str, &Tensor)]) {
    std::fs::create_dir_all(root).unwrap();
    for (name, tensor) in values {
        npy::write(&tensor.view(), &mut std::fs::File::create(root.join(format!("{name}.npy"))).unwrap()).unwrap();
    }
}
