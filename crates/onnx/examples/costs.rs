//! Prints the costs of every operator of a model, one JSON object per line. `scripts/judge-flops` compares them with
//! another counter.
//!
//! ```text
//! cargo run -p opscope-onnx --example costs -- MODEL [INPUT=2,3,224,224 ...]
//! ```
//!
//! A dimension that the file leaves open is 1, unless the command line sets the shape of the input.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use opscope_onnx::{CostGraph, Dim, Graph, TensorInfo, ValueTypes};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: costs MODEL [INPUT=2,3,224,224 ...]")?;
    let mut shapes: HashMap<String, Vec<usize>> = HashMap::new();
    for argument in arguments {
        let (name, sizes) = argument.split_once('=').ok_or("a shape is INPUT=2,3,224,224")?;
        let sizes = sizes.split(',').filter(|size| !size.is_empty()).map(str::parse);
        shapes.insert(name.to_owned(), sizes.collect::<Result<_, _>>()?);
    }
    let graph = Graph::load(Path::new(&path))?;
    let known = graph.inputs.iter().filter_map(|id| {
        let value = graph.value(*id);
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => *size,
            Dim::Symbol(_) => 1,
        };
        let declared = || value.shape.as_ref().map(|shape| shape.iter().map(size).collect());
        let shape = shapes.get(&value.name).cloned().or_else(declared)?;
        Some((*id, TensorInfo { dtype: value.dtype, shape }))
    });
    let types = ValueTypes::infer(&graph, known);
    let costs = CostGraph::new(&graph, &types);
    for operator in graph.all_operators() {
        let cost = costs.cost(&[operator.id]);
        let shape = |value: &Option<_>| value.and_then(|id| types.get(id)).map(|info| info.shape.clone());
        let line = json!({
            "operator": operator.name, "op_type": operator.op_type,
            "flops": cost.flops, "bytes_read": cost.bytes_read, "bytes_written": cost.bytes_written,
            "inputs": operator.inputs.iter().map(shape).collect::<Vec<_>>(),
            "outputs": operator.outputs.iter().map(shape).collect::<Vec<_>>(),
        });
        println!("{line}");
    }
    Ok(())
}
