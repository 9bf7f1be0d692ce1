//! What an exported model has in common with the dump of its program.

// The embedded engine's tests make their models with it, too.
#[allow(dead_code)]
#[path = "../../../../engine-tract/tests/engine/builder.rs"]
mod builder;

use builder::{Builder, D, floats};
use opscope_model::testing::GraphBuilder;
use serde_json::json;
use tract_onnx::pb::tensor_proto::DataType;

use super::*;

#[test]
fn an_input_is_fitted_by_its_type_its_rank_and_every_size_that_is_fixed() {
    let graph = GraphBuilder::new("one").input("x", &[2, 3]).build();
    let mut value = graph.value(graph.inputs[0]).clone();
    assert!(fits(&value, DType::F32, &[2, 3]));
    assert!(!fits(&value, DType::F64, &[2, 3]) && !fits(&value, DType::F32, &[2, 4]));
    assert!(!fits(&value, DType::F32, &[2]) && !fits(&value, DType::F32, &[2, 3, 1]));
    value.shape = Some(vec![Dim::Symbol("n".to_owned()), Dim::Fixed(3)]);
    assert!(fits(&value, DType::F32, &[9, 3]) && !fits(&value, DType::F32, &[9, 2]));
    (value.dtype, value.shape) = (None, None);
    assert!(fits(&value, DType::I64, &[]));
}

/// Returns a program's dump of step 3, whose parameter `w` has this type, this shape and this hash.
fn program(root: &std::path::Path, dtype: &str, shape: &[usize], xxh3: Digest) -> StoredDump {
    let parameter = json!({ "name": "w", "dtype": dtype, "shape": shape, "xxh3": xxh3 });
    let manifest = json!({
        "schema": "opscope.dump/1", "complete": true, "writer": "a test", "fidelity": "exact", "contents": "statistics",
        "model": { "path": "train.py", "name": "Net", "xxh3": "00000000deadbeef" },
        "engine": { "name": "paper", "version": "1" }, "tensors": 1, "bytes": 8, "inputs": [[parameter]],
        "runs": [{ "run": 3, "inputs": 0, "failure": null, "in_flight": [] }], "raw": [],
        "missing_count": 0, "missing": [], "errors": [],
    });
    let line = json!({
        "run": 3, "operator": "Net/add", "op_type": "add", "phase": "forward", "position": 0, "io": "output", "slot": 0,
        "value": "y", "dtype": "float32", "shape": [2], "file": null, "bytes": 8, "xxh3": "00000000deadbeef",
        "min": 0.0, "max": 1.0, "mean": 0.5, "nan": 0, "inf": 0, "state": "statistics",
    });
    std::fs::create_dir_all(root).unwrap();
    std::fs::write(root.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(root.join("index.jsonl"), format!("{line}\n")).unwrap();
    StoredDump::open(root).unwrap()
}

#[test]
fn an_initializer_is_stale_if_the_parameter_of_its_name_type_and_shape_has_other_data() {
    let graph = Builder::default()
        .input("x", DataType::Float, &[D::N(2)])
        .output("y")
        .initializer(floats("w", &[2], &[0.5, 4.0]))
        .node("add", "Add", &["x", "w"], &["y"])
        .graph();
    let same = Digest::of(&[0.5_f32, 4.0].map(f32::to_le_bytes).concat());
    let other = Digest::of(&[0.5_f32, 5.0].map(f32::to_le_bytes).concat());
    let root = tempfile::tempdir().unwrap();
    let stale = |dtype: &str, shape: &[usize], xxh3: Digest| {
        let dump = program(root.path(), dtype, shape, xxh3);
        assert!(dump.is_program());
        stale_initializers(&graph, &dump).unwrap()
    };
    assert_eq!(stale("float32", &[2], other), ["w"]);
    assert_eq!(stale("float32", &[2], same), Vec::<String>::new());
    // A parameter of another type or shape is another parameter.
    assert_eq!(stale("float32", &[2, 1], other), Vec::<String>::new());
    assert_eq!(stale("int32", &[2], other), Vec::<String>::new());
}
