//! Which tensors match, and the inputs of the two sides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_dump::{
    CompareOptions, Comparison, Contents, DirectorySink, DumpInfo, Dumper, InputEntry, InputSets, IoSelection, MatchBy,
    MatchedBy, Order, Request, Selection, StoredDump, Verdict, WrittenFiles, differing_initializers,
};
use opscope_model::testing::{FakePlan, GraphBuilder, floats as numbers, kernels};
use opscope_model::{Fidelity, RunId};
use opscope_onnx::{Graph, OnnxError};
use opscope_tensor::{DType, Digest, Tensor};
use prost::bytes::Bytes;

use crate::{arrays, floats};

/// Returns a plan of three operators with these names and types, each of which adds one. The output of each has the
/// operator's name.
fn plan(operators: [(&str, &str); 3]) -> FakePlan {
    let begin = GraphBuilder::new("three").input("x", &[2]);
    let (graph, last) = operators.iter().fold((begin, "x".to_owned()), |(graph, before), (name, op_type)| {
        let given = format!("{name}_given");
        (graph.operator(name, op_type, &[&before], &[&given]), given)
    });
    let graph = Arc::new(graph.output(&last).build());
    let groups: Vec<_> = operators.iter().map(|(name, _)| std::slice::from_ref(name)).collect();
    FakePlan::new(&graph, kernels(&graph, &groups), Fidelity::Exact, |_, inputs| {
        Ok(vec![floats(&numbers(&inputs[0]).iter().map(|number| number + 1.0).collect::<Vec<_>>())])
    })
}

fn dump(root: PathBuf, plan: &FakePlan, contents: Contents, given: Option<&Tensor>) -> StoredDump {
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let selection = Selection { io: IoSelection::Outputs, ..Selection::default() };
    let sink = DirectorySink::create(&root, contents, &info).unwrap();
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    if let Some(given) = given {
        dumper.set_inputs(RunId(0), InputEntry::of(&plan.graph, std::slice::from_ref(given)));
    }
    plan.run_with(&dumper, 0).unwrap();
    dumper.finish().unwrap();
    StoredDump::open(Path::new(&root)).unwrap()
}

#[test]
fn tensors_are_matched_by_the_position_and_the_type_of_their_operator_where_that_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let all = Contents::Tensors;
    let one = dump(dir.path().join("one"), &plan([("a", "Add"), ("b", "Mul"), ("c", "Exp")]), all, None);
    let other = dump(dir.path().join("other"), &plan([("p", "Add"), ("q", "Mul"), ("r", "Log")]), all, None);
    let options = CompareOptions { match_by: MatchBy::Position, ..CompareOptions::default() };
    let comparison = Comparison::of(&one, &other, &options);
    let pairs: Vec<_> = comparison
        .rows
        .iter()
        .map(|row| (row.place.operator.clone().unwrap(), row.reference.operator.clone().unwrap(), row.matched_by))
        .collect();
    let expected = [("a", "p"), ("b", "q")].map(|(one, other)| (one.to_owned(), other.to_owned(), MatchedBy::Position));
    assert_eq!(pairs, expected);
    let only = |places: &[opscope_dump::StoredOrigin]| places.iter().map(|place| place.label()).collect::<Vec<_>>();
    assert_eq!(only(&comparison.only_in_tensors), ["c_given"]);
    assert_eq!(only(&comparison.only_in_reference), ["r_given"]);
    assert_eq!((comparison.is_same(), comparison.is_complete()), (true, false));
    let by_name = Comparison::of(&one, &other, &CompareOptions::default());
    assert_eq!((by_name.rows.len(), by_name.verdict()), (0, Verdict::Unknown));
    assert_eq!(MatchBy::ALL.map(MatchBy::name), ["name", "position"]);
}

#[test]
fn two_single_files_are_compared_whatever_they_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other, more) = (dir.path().join("one"), dir.path().join("other"), dir.path().join("more"));
    arrays(&one, &[("a", &floats(&[1.0]))]);
    arrays(&other, &[("b", &floats(&[1.0]))]);
    arrays(&more, &[("c", &floats(&[1.0])), ("d", &floats(&[1.0]))]);
    let open = |path: PathBuf| StoredDump::open(&path).unwrap();
    let compare = |one: &StoredDump, other: &StoredDump| Comparison::of(one, other, &CompareOptions::default()).rows;
    let (a, b) = (open(one.join("a.npy")), open(other.join("b.npy")));
    let rows = compare(&a, &b);
    assert_eq!((rows.len(), rows[0].matched_by, rows[0].verdict()), (1, MatchedBy::SingleFile, Verdict::Same));
    // The files of a directory are matched by name.
    assert_eq!(compare(&open(one), &b).len(), 0);
    assert_eq!(compare(&a, &open(more)).len(), 0);
}

#[test]
fn inputs_that_differ_are_named_and_hashed_as_anyone_hashes_them() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan([("a", "Add"), ("b", "Mul"), ("c", "Exp")]);
    let given = floats(&[1.0, -2.5, 0.0, f32::NAN, f32::INFINITY, 0.0, 7.25, f32::INFINITY]);
    let entries = InputEntry::of(&plan.graph, std::slice::from_ref(&given));
    let expected = InputEntry {
        name: "x".into(),
        dtype: DType::F32,
        shape: vec![8],
        xxh3: Digest(0xe3cf_c19a_ebd9_be0a),
        file: None,
    };
    assert_eq!(*entries, [expected]);
    let with = |name: &str, given: Option<&Tensor>| dump(dir.path().join(name), &plan, Contents::Tensors, given);
    let (one, same) = (with("one", Some(&given)), with("same", Some(&given)));
    let other = with("other", Some(&floats(&[2.0])));
    let unknown = with("unknown", None);
    let differing = |with: &StoredDump, options: &CompareOptions| Comparison::of(&one, with, options).inputs;
    let default = CompareOptions::default();
    assert_eq!(differing(&same, &default), [""; 0]);
    assert_eq!(differing(&other, &default), ["x"]);
    assert_eq!(differing(&unknown, &default), [""; 0]);
    assert_eq!(differing(&other, &CompareOptions { same_inputs: true, ..CompareOptions::default() }), [""; 0]);
    let text = Comparison::of(&one, &other, &default).text(Order::Graph, 9);
    assert!(text.contains("the two sides were given different inputs: x\n"), "{text}");
    let text = Comparison::of(&one, &same, &default).text(Order::Graph, 9);
    assert!(!text.contains("inputs"), "{text}");
}

#[test]
fn of_several_sets_of_inputs_the_worst_row_of_each_tensor_is_shown_with_its_set() {
    let dir = tempfile::tempdir().unwrap();
    let reference = dir.path().join("reference");
    let values = [("y", [1.0, 2.0]), ("z", [3.0, 4.0])];
    arrays(
        &reference,
        &values.map(|(name, values)| (name, floats(&values))).each_ref().map(|(name, tensor)| (*name, tensor)),
    );
    let reference = StoredDump::open(&reference).unwrap();
    let mut sets = InputSets::default();
    // In the first set `y` is right and `z` is wrong. In the second one `y` is wrong, and `z` is more wrong than
    // before.
    for (run, (y, z)) in [([1.0, 2.0], [3.0, 4.5]), ([1.0, 2.5], [3.0, 5.0])].into_iter().enumerate() {
        let root = dir.path().join(run.to_string());
        arrays(&root, &[("y", &floats(&y)), ("z", &floats(&z))]);
        let mut comparison = Comparison::of(&StoredDump::open(&root).unwrap(), &reference, &CompareOptions::default());
        comparison.rows.iter_mut().for_each(|row| row.place.run = Some(run as u64));
        sets.add(vec![PathBuf::from(format!("in/{run}.npy"))], comparison, true);
    }
    let all = sets.finish(None).unwrap();
    let rows: Vec<_> =
        all.rows.iter().map(|row| (row.place.label(), row.place.run, row.difference().unwrap().max_absolute)).collect();
    assert_eq!(rows, [("y".to_owned(), Some(1), 0.5), ("z".to_owned(), Some(1), 1.0)]);
    let text = all.text(Order::Graph, 9);
    assert!(text.contains("2 sets of inputs were run; of each tensor, the worst is shown, with its input\n"), "{text}");
    assert!(text.contains("1.npy") && !text.contains("0.npy"), "{text}");
    assert_eq!(all.json()["input_sets"], serde_json::json!([["in/0.npy"], ["in/1.npy"]]));
}

#[test]
fn an_inspection_counts_what_has_nothing_to_compare_with() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan([("a", "Add"), ("b", "Mul"), ("c", "Exp")]);
    dump(dir.path().join("tensors"), &plan, Contents::Tensors, None);
    dump(dir.path().join("statistics"), &plan, Contents::Statistics, None);
    let verdict = |name: &str| opscope_dump::Inspection::of(&dir.path().join(name)).unwrap().verdict();
    let tensors = verdict("tensors");
    assert!(tensors.contains("\n3 tensors were read and compared with their hashes\n"), "{tensors}");
    let statistics = verdict("statistics");
    let expected = "\n0 tensors were read and compared with their hashes; 3 have no data or no hash to compare with\n";
    assert!(statistics.contains(expected), "{statistics}");
}

#[test]
fn initializers_whose_values_differ_in_the_coarser_type_are_named() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/digits_cnn.onnx"));
    let file = std::fs::read(path).unwrap();
    let graph = |bytes: Vec<u8>| Graph::from_bytes(path, Bytes::from(bytes)).unwrap();
    let original = graph(file.clone());
    let mut weight = Vec::new();
    let read = original.initializers::<OnnxError>(
        |value| original.value(value).name == "conv2.bias",
        |_, tensor| {
            weight = tensor.bytes().to_vec();
            Ok(())
        },
    );
    read.unwrap();
    let at = file.windows(weight.len()).position(|window| window == weight).unwrap();
    let changed = |byte: usize| {
        let mut bytes = file.clone();
        bytes[at + byte] ^= 1;
        graph(bytes)
    };
    assert_eq!(differing_initializers(&original, &original).unwrap(), [""; 0]);
    // This changes the last bit of a number, and one of its exponent.
    for byte in [0, 3] {
        assert_eq!(differing_initializers(&changed(byte), &original).unwrap(), ["conv2.bias"]);
        assert_eq!(differing_initializers(&original, &changed(byte)).unwrap(), ["conv2.bias"]);
    }
}

#[test]
fn the_files_that_a_dump_wrote_are_told_apart_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan([("a", "Add"), ("b", "Mul"), ("c", "Exp")]);
    dump(dir.path().join("tensors"), &plan, Contents::Tensors, None);
    let written = WrittenFiles::of(&dir.path().join("tensors"));
    let is_written = |file: &str| written.contains(Path::new(file));
    for own in [
        "index.jsonl",
        "manifest.json",
        "statistics.csv",
        "histograms.jsonl",
        "mapping.csv",
        "run-0000/00001-b.output0.npy",
        "run-0000/00001-b.output0.npy.partial",
        "tensors.parquet",
    ] {
        assert!(is_written(own), "{own}");
    }
    for other in ["notes.txt", "run-0000/00009-z.output0.npy", "run-0000/tensors.parquet", "run-0000", "parquet"] {
        assert!(!is_written(other), "{other}");
    }
}

#[test]
fn an_inspection_shows_so_many_rows_and_says_how_many_more_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let plan = plan([("a", "Add"), ("b", "Mul"), ("c", "Exp")]);
    dump(dir.path().join("tensors"), &plan, Contents::Tensors, None);
    let inspection = opscope_dump::Inspection::of(&dir.path().join("tensors")).unwrap();
    let text = |rows| inspection.text_within(rows, 80);
    assert!(text(2).ends_with("... and 1 more tensor; --rows 3 shows all\n"), "{}", text(2));
    assert!(text(1).ends_with("... and 2 more tensors; --rows 3 shows all\n") && !text(1).contains("b_given"));
    assert!(!text(3).contains("more tensor") && text(3).contains("c_given"), "{}", text(3));
}
