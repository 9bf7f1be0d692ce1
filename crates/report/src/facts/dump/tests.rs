//! The facts that are read from a dump, found by hand.

use std::fs;

use opscope_model::testing::GraphBuilder;
use opscope_tensor::Digest;
use serde_json::{Value, json};

use super::*;

/// Returns a tensor of an index: 24 bytes of `float32 [2, 3]`.
fn tensor(run: u64, (position, operator): (usize, &str), io: &str, value: &str, more: Value) -> Value {
    let mut line = json!({
        "run": run, "operator": operator, "op_type": "Add", "position": position, "io": io, "slot": 0, "value": value,
        "dtype": "float32", "shape": [2, 3], "file": null, "bytes": 24, "xxh3": "00000000deadbeef",
        "min": null, "max": null, "mean": null, "nan": 0, "inf": 0, "state": "statistics",
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    line
}

fn manifest() -> Value {
    json!({
        "schema": "opscope.dump/1", "complete": true, "writer": "a test", "fidelity": "exact", "contents": "statistics",
        "model": { "path": "models/made.onnx", "name": "made", "xxh3": "00000000deadbeef" },
        "engine": { "name": "paper", "version": "1" }, "tensors": 1, "bytes": 24,
        "inputs": [], "runs": [{ "run": 0, "inputs": null, "failure": null, "in_flight": [] }], "raw": [],
        "missing_count": 0, "missing": [], "errors": [],
    })
}

fn read_with(tensors: &[Value], manifest: &Value) -> DumpFacts {
    let root = tempfile::tempdir().expect("a directory");
    let lines: Vec<String> = tensors.iter().map(|line| format!("{line}\n")).collect();
    fs::write(root.path().join("index.jsonl"), lines.concat()).expect("a new file");
    let mut manifest = manifest.clone();
    let bytes: u64 = tensors.iter().filter_map(|tensor| tensor["bytes"].as_u64()).sum();
    (manifest["tensors"], manifest["bytes"]) = (json!(tensors.len()), json!(bytes));
    fs::write(root.path().join("manifest.json"), manifest.to_string()).expect("a new file");
    DumpFacts::read(root.path()).expect("a dump")
}

fn read(tensors: &[Value]) -> DumpFacts {
    read_with(tensors, &manifest())
}

fn values(facts: &DumpFacts) -> Vec<(&str, &str)> {
    facts.rows.iter().map(|row| (row.value.as_str(), row.io)).collect()
}

#[test]
fn values_stand_in_the_order_of_runs_and_operators_and_each_takes_before_it_gives() {
    let facts = read(&[
        tensor(1, (0, "/one"), "output", "late", json!({})),
        tensor(0, (1, "/two"), "output", "c", json!({})),
        tensor(0, (1, "/two"), "input", "b", json!({})),
        tensor(0, (0, "/one"), "output", "b", json!({})),
        tensor(0, (0, "/one"), "input", "a", json!({ "dtype": "int64", "shape": [], "bytes": 8 })),
        tensor(1, (0, "/one"), "output", "b", json!({ "shape": [9], "bytes": 36 })),
    ]);
    let expected = [("a", "input"), ("b", "output"), ("b", "input"), ("c", "output"), ("late", "output")];
    assert_eq!(values(&facts), expected);
    assert_eq!((facts.tensors, facts.bytes, facts.left, facts.is_ordered), (6, 140, 0, true));
    assert_eq!(facts.rows[1].tensors, 2, "those of two runs are one value");
    let row = &facts.rows[0];
    assert_eq!((row.dtype.as_str(), row.shape.as_str(), row.op_type.as_str()), ("int64", "scalar", "Add"));
    assert_eq!(facts.rows[1].shape, "2×3", "of the first tensor");
    let type_of = |value: &str| facts.types[value].clone();
    assert_eq!(type_of("a"), (opscope_tensor::DType::I64, vec![]));
    assert_eq!(type_of("b"), (opscope_tensor::DType::F32, vec![2, 3]));
    assert_eq!(facts.types.len(), 4);
    let mut unordered = tensor(0, (1, "/two"), "output", "c", json!({}));
    unordered["position"] = Value::Null;
    assert!(!read(&[tensor(0, (0, "/one"), "output", "b", json!({})), unordered]).is_ordered);
    assert!(!read(&[]).is_ordered);
}

#[test]
fn a_row_has_the_extremes_and_the_mean_of_its_tensors_and_the_sums_of_what_is_not_finite() {
    let of = |run, more: Value| tensor(run, (0, "/one"), "output", "b", more);
    let facts = read(&[
        of(0, json!({ "min": -1.0, "max": 4.0, "mean": 1.0, "nan": 1, "inf": 0 })),
        of(1, json!({ "min": -3.0, "max": 2.0, "mean": 2.0, "nan": 0, "inf": 2 })),
        of(2, json!({ "nan": 3, "inf": 3 })),
        of(3, json!({ "min": 0.0, "max": 9.0, "mean": 6.0 })),
        tensor(3, (1, "/two"), "output", "c", json!({ "min": 5.0, "max": 5.0, "mean": 5.0 })),
    ]);
    let row = &facts.rows[0];
    assert_eq!((row.tensors, row.min, row.max, row.nan, row.inf), (4, Some(-3.0), Some(9.0), 4, 5));
    assert!(row.mean.is_some_and(|mean| (mean - 3.0).abs() < 1e-12), "{:?}", row.mean);
    assert_eq!(facts.bad, BadElements { tensors: 3, nan: 4, inf: 5 });
    let bad = facts.first_bad.expect("the first tensor has a NaN");
    assert_eq!((bad.run, bad.value.as_str(), bad.nan, bad.inf), (Some(0), "b", 1, 0));
    assert_eq!((bad.operator.as_deref(), bad.op_type.as_deref()), (Some("/one"), Some("Add")));
    assert_eq!((bad.is_input, bad.is_given, bad.suspects), (false, false, None));
    assert_eq!(facts.rows[1].first_bad, None);
}

#[test]
fn the_first_that_is_not_finite_is_that_of_the_first_run_and_operator() {
    let bad = |run, at, io: &str, value: &str| tensor(run, at, io, value, json!({ "inf": 1 }));
    let facts = read(&[
        bad(1, (0, "/one"), "output", "b"),
        bad(0, (2, "/three"), "output", "d"),
        bad(0, (1, "/two"), "output", "c"),
        bad(0, (1, "/two"), "input", "x"),
        tensor(0, (0, "/one"), "output", "b", json!({})),
    ]);
    let first = facts.first_bad.as_ref().expect("there are some");
    assert_eq!((first.run, first.value.as_str(), first.is_input), (Some(0), "x", true));
    // The first bad tensor of a row is its own.
    let of_rows: Vec<Option<u64>> = facts.rows.iter().map(|row| row.first_bad.as_ref()?.run).collect();
    assert_eq!(values(&facts)[0], ("b", "output"));
    assert_eq!(of_rows, [Some(1), Some(0), Some(0), Some(0)]);
}

#[test]
fn an_input_of_the_model_is_given_and_an_operator_whose_inputs_are_there_has_no_suspects() {
    let mut with_inputs = manifest();
    with_inputs["inputs"] = json!([[{ "name": "x", "dtype": "float32", "shape": [2, 3], "xxh3": "00000000deadbeef" }]]);
    let taken = tensor(0, (0, "/one"), "input", "x", json!({ "nan": 1 }));
    let is_given =
        |manifest: &Value| read_with(std::slice::from_ref(&taken), manifest).first_bad.map(|bad| bad.is_given);
    assert_eq!(is_given(&with_inputs), Some(true));
    assert_eq!(is_given(&manifest()), Some(false));
    let good = tensor(0, (0, "/one"), "input", "a", json!({}));
    let suspects = |tensors: &[Value]| read(tensors).first_bad.expect("b has a NaN").suspects;
    let given = tensor(0, (0, "/one"), "output", "b", json!({ "nan": 1 }));
    assert_eq!(suspects(&[good.clone(), given.clone()]), Some(vec![]));
    let other = tensor(0, (1, "/two"), "input", "b", json!({}));
    assert_eq!(suspects(&[given, other]), None, "those of another operator do not count");
}

#[test]
fn of_more_values_than_rows_those_that_are_not_finite_stay() {
    let of = |values: usize, bad: &[usize]| {
        let value = |index: usize| {
            let nan = u64::from(bad.contains(&index));
            tensor(0, (index, &format!("/{index}")), "output", &format!("v{index}"), json!({ "nan": nan }))
        };
        let facts = read(&(0..values).map(value).collect::<Vec<_>>());
        let last = facts.rows.last().map_or_else(String::new, |row| row.value.clone());
        (facts.rows.len(), facts.left, last)
    };
    assert_eq!(of(4_000, &[]), (4_000, 0, "v3999".to_owned()));
    assert_eq!(of(4_003, &[]), (4_000, 3, "v3999".to_owned()));
    assert_eq!(of(4_003, &[2, 4_002]), (4_000, 3, "v4002".to_owned()));
    assert_eq!(of(4_003, &[4_001]), (4_000, 3, "v4001".to_owned()));
}

#[test]
fn what_a_manifest_says_is_shown_and_what_is_missing_is_a_sentence_each() {
    let one = [tensor(0, (0, "/one"), "output", "b", json!({}))];
    let facts = read(&one);
    assert_eq!(facts.problems, Vec::<String>::new());
    let about = [
        ("Model", "models/made.onnx (xxh3 00000000deadbeef)"),
        ("Engine", "paper 1, exact"),
        ("Runs", "1"),
        ("Contents", "statistics"),
    ];
    assert_eq!(facts.about, about.map(|(word, text)| (word, text.to_owned())));
    assert_eq!(facts.model.as_deref(), Some("models/made.onnx"));
    assert_eq!(facts.model_hash, Some(Digest(0xdead_beef)));
    let mut wrong = manifest();
    wrong["complete"] = json!(false);
    assert_eq!(read_with(&one, &wrong).problems, ["the dump says that it is incomplete"]);
    wrong["missing_count"] = json!(2);
    wrong["errors"] = json!(["the disk is full"]);
    wrong["runs"][0]["failure"] = json!("it was cancelled");
    let expected =
        ["the disk is full", "2 tensors are missing; the manifest names them", "run 0 failed: it was cancelled"];
    assert_eq!(read_with(&one, &wrong).problems, expected);
}

#[test]
fn a_dump_without_positions_gets_the_order_in_which_the_model_computes() {
    let graph = GraphBuilder::new("made").input("x", &[2, 3]).operator("/one", "Add", &["x"], &["a"]);
    let graph = graph.operator("/two", "Loop", &["a"], &["b"]).operator("/three", "Add", &["b"], &["c"]).output("c");
    let graph = graph.body("/two", "body").operator("first", "Add", &["a"], &["s"]);
    let graph = graph.operator("second", "Add", &["s"], &["t"]).build();
    let inner = |name: &str| graph.all_operators().find(|operator| operator.name.ends_with(name)).unwrap().name.clone();
    let place = |operator: &str, value: &str| tensor(0, (0, operator), "output", value, json!({ "position": null }));
    let mut facts = read(&[
        place("elsewhere", "u"),
        place("/three", "c"),
        place("/two", "b"),
        place(&inner("second"), "t"),
        place(&inner("first"), "s"),
        // The model has the values, but not the operator.
        place("elsewhere", "a"),
        place("elsewhere", "x"),
    ]);
    assert!(!facts.is_ordered);
    facts.add_graph(&graph);
    let order: Vec<&str> = values(&facts).into_iter().map(|(value, _)| value).collect();
    assert_eq!(order, ["x", "a", "s", "t", "b", "c", "u"]);
    assert!(facts.is_ordered);
}
