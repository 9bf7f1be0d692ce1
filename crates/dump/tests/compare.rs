//! Comparisons of dumps: which tensors match, how far they are apart, and where the difference begins.

mod chain;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::chain_of;
use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{
    Blame, CompareOptions, CompareSink, Comparison, Contents, Delivery, DirectorySink, DumpInfo, Dumper, IoSelection,
    KeepSink, Mapping, MatchedBy, Order, Outcome, Request, Selection, Sink, StoredDump, Summary, Tolerances,
};
use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, kernels};
use opscope_tensor::{Tensor, Tolerance, npy};

const NAMES: &[&str] = &["a", "b", "c", "d", "last"];

fn run_into(chain: &FakePlan, sink: Box<dyn Sink>, io: IoSelection) {
    let dumper = Dumper::new();
    let selection = Selection { io, ..Selection::default() };
    dumper.subscribe(sink, Request { selection, delivery: Some(Delivery::Direct), ..Request::default() }).unwrap();
    dumper.add_plan(chain, chain).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    dumper.finish().unwrap();
}

fn dump(chain: &FakePlan, root: PathBuf, io: IoSelection) -> PathBuf {
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    run_into(chain, Box::new(DirectorySink::create(&root, Contents::Tensors, &info).unwrap()), io);
    root
}

fn compare(a: &Path, b: &Path, options: &CompareOptions) -> Comparison {
    Comparison::of(&StoredDump::open(a).unwrap(), &StoredDump::open(b).unwrap(), options)
}

/// Adds to every element of an operator's output in its file. The index keeps the old statistics, because the data is
/// read again.
fn change(root: &Path, operator: &str, by: f32) {
    let stored = StoredDump::open(root).unwrap();
    let tensor = stored
        .tensors
        .iter()
        .find(|tensor| {
            tensor.place.operator.as_deref() == Some(operator) && tensor.place.io.unwrap().name() == "output"
        })
        .unwrap();
    let old = tensor.read().unwrap();
    let values: Vec<f32> = old.bytes().as_chunks::<4>().0.iter().map(|&bytes| f32::from_le_bytes(bytes) + by).collect();
    let new = Tensor::from_f32(old.shape().to_vec(), &values).unwrap();
    npy::write(&new.view(), &mut std::fs::File::create(tensor.file().unwrap()).unwrap()).unwrap();
}

#[test]
fn a_dump_is_the_same_as_itself_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[10, 1000]);
    let own = dump(&chain, dir.path().join("own"), IoSelection::All);
    let ascend = dir.path().join("ascend");
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let target = DirectoryTarget::create(&ascend, &info).unwrap();
    run_into(&chain, Box::new(AscendSink::new(target, 1 << 20)), IoSelection::All);
    let plain = dir.path().join("plain");
    std::fs::create_dir(&plain).unwrap();
    for tensor in StoredDump::open(&own).unwrap().tensors {
        let name = format!("{}.npy", tensor.place.value.as_ref().unwrap().replace(' ', "_"));
        npy::write(&tensor.read().unwrap().view(), &mut std::fs::File::create(plain.join(name)).unwrap()).unwrap();
    }
    for (other, matched_by) in [(&own, MatchedBy::Value), (&ascend, MatchedBy::Value), (&plain, MatchedBy::Spelling)] {
        let comparison = compare(&own, other, &CompareOptions::default());
        assert!(comparison.is_same() && comparison.is_complete(), "{}", comparison.text(Order::Graph, 100));
        assert_eq!(comparison.rows.len(), 9);
        assert!(comparison.rows.iter().any(|row| row.matched_by == matched_by), "{other:?}");
        let exact = Tolerances { all: Some(Tolerance::EXACT), ..Tolerances::default() };
        assert!(compare(other, &own, &CompareOptions { tolerances: exact, ..CompareOptions::default() }).is_same());
    }
}

#[test]
fn the_first_operator_that_diverges_is_named_with_its_inputs_errors() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[100]);
    let reference = dump(&chain, dir.path().join("reference"), IoSelection::Outputs);
    let tensors = dump(&chain, dir.path().join("tensors"), IoSelection::Outputs);
    change(&tensors, "b", 1e-5);
    change(&tensors, "c", 0.5);
    change(&tensors, "d", 0.5);
    let options = CompareOptions { graph: Some(Arc::clone(&chain.graph)), ..CompareOptions::default() };
    let comparison = compare(&tensors, &reference, &options);
    assert!(!comparison.is_same());
    let divergence = comparison.divergence.as_ref().unwrap();
    assert_eq!(comparison.rows[divergence.row].place.operator.as_deref(), Some("c"));
    assert_eq!(divergence.blame, Blame::Operator);
    let input = &divergence.inputs[0];
    assert_eq!(input.value, "value 2");
    let error = comparison.rows[input.row.unwrap()].difference().unwrap().max_absolute;
    assert!(error > 0.0 && error < 2e-5, "{error}");
    let text = comparison.text(Order::Graph, 100);
    assert!(text.contains("first to diverge: operator 'c' (AddOne), 0.5000 apart at most"), "{text}");
    assert!(text.contains("it is this operator"), "{text}");
}

#[test]
fn an_operator_is_not_blamed_for_what_it_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[100]);
    let reference = dump(&chain, dir.path().join("reference"), IoSelection::All);
    let tensors = dump(&chain, dir.path().join("tensors"), IoSelection::All);
    // Without the model's graph, the captured inputs show it.
    let stored = StoredDump::open(&tensors).unwrap();
    let input = stored
        .tensors
        .iter()
        .find(|t| t.place.operator.as_deref() == Some("c") && t.place.value.as_deref() == Some("value 2"));
    let wrong = Tensor::from_f32(vec![100], &[7.0; 100]).unwrap();
    npy::write(&wrong.view(), &mut std::fs::File::create(input.unwrap().file().unwrap()).unwrap()).unwrap();
    change(&tensors, "c", 5.0);
    let comparison = compare(&tensors, &reference, &CompareOptions::default());
    let divergence = comparison.divergence.as_ref().unwrap();
    assert_eq!(comparison.rows[divergence.row].place.operator.as_deref(), Some("c"));
    assert_eq!(divergence.blame, Blame::Inputs);
    let inputs: Vec<_> = divergence.inputs.iter().map(|input| &comparison.rows[input.row.unwrap()].place).collect();
    let inputs: Vec<_> = inputs.iter().map(|place| (place.operator.as_deref(), place.io.unwrap().name())).collect();
    assert_eq!(inputs, [(Some("c"), "input")], "its own input alone");
    assert_eq!((divergence.inputs[0].slot, divergence.inputs[0].value.as_str()), (0, "value 2"));
}

#[test]
fn shapes_that_differ_and_files_that_are_gone_are_told_apart_from_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[100]);
    let reference = dump(&chain, dir.path().join("reference"), IoSelection::Outputs);
    let other = dump(&chain_of(NAMES, &[10, 10]), dir.path().join("other"), IoSelection::Outputs);
    let comparison = compare(&other, &reference, &CompareOptions::default());
    assert_eq!(comparison.rows.iter().filter(|row| row.outcome == Outcome::Shapes).count(), 4);
    assert!(!comparison.is_same());
    let stored = StoredDump::open(&reference).unwrap();
    std::fs::remove_file(stored.tensors[1].file().unwrap()).unwrap();
    let comparison = Comparison::of(&stored, &stored, &CompareOptions::default());
    assert!(comparison.rows.iter().any(|row| matches!(row.outcome, Outcome::Unreadable(_))));
}

#[test]
fn a_mapping_joins_what_has_other_names() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(&["a", "last"], &[10]);
    let tensors = dump(&chain, dir.path().join("tensors"), IoSelection::Outputs);
    let plain = dir.path().join("plain");
    std::fs::create_dir(&plain).unwrap();
    let one = Tensor::from_f32(vec![10], &[1.0; 10]).unwrap();
    npy::write(&one.view(), &mut std::fs::File::create(plain.join("renamed.npy")).unwrap()).unwrap();
    assert!(compare(&tensors, &plain, &CompareOptions::default()).rows.is_empty());
    for text in ["value 1,renamed", "a:output0,renamed"] {
        let options = CompareOptions { mapping: Mapping::parse(text).unwrap(), ..CompareOptions::default() };
        let comparison = compare(&tensors, &plain, &options);
        assert!(comparison.is_same() && comparison.is_complete(), "every array was compared");
        assert_eq!(comparison.rows[0].matched_by, MatchedBy::Mapping);
        assert_eq!(comparison.only_in_tensors.len(), 1);
    }
}

#[test]
fn runs_are_compared_while_they_run_without_files() {
    for cap in [u64::MAX, 500] {
        let chain = chain_of(NAMES, &[100]);
        let spill = tempfile::tempdir().unwrap();
        let (sink, keeper) = KeepSink::new(cap, spill.path().into());
        run_into(&chain, Box::new(sink), IoSelection::Outputs);
        let reference = Arc::new(keeper.dump());
        assert_eq!(reference.tensors.len(), 5);
        let (sink, comparer) = CompareSink::new(Arc::clone(&reference), CompareOptions::default());
        run_into(&chain, Box::new(sink), IoSelection::Outputs);
        let comparison = comparer.comparison("again");
        assert!(comparison.is_same() && comparison.is_complete(), "{}", comparison.text(Order::Graph, 100));
        assert_eq!(comparison.rows.len(), 5);

        let (sink, comparer) = CompareSink::new(reference, CompareOptions::default());
        run_into(&chain_of(&["a", "b", "other", "d", "last"], &[7]), Box::new(sink), IoSelection::Outputs);
        assert!(!comparer.comparison("another model").is_same());
        assert_eq!(std::fs::read_dir(spill.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_reference_that_cannot_be_read_is_no_difference_of_shapes() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[100]);
    let reference = StoredDump::open(&dump(&chain, dir.path().join("reference"), IoSelection::Outputs)).unwrap();
    let gone = reference.tensors.iter().find(|tensor| tensor.place.operator.as_deref() == Some("c")).unwrap();
    std::fs::remove_file(gone.file().unwrap()).unwrap();
    let (sink, comparer) = CompareSink::new(Arc::new(reference), CompareOptions::default());
    run_into(&chain, Box::new(sink), IoSelection::Outputs);
    let rows = comparer.comparison("now").rows;
    assert_eq!(rows.len(), 5);
    for row in rows {
        let is_gone = row.place.operator.as_deref() == Some("c");
        assert_eq!(matches!(row.outcome, Outcome::Unreadable(_)), is_gone, "{row:?}");
        assert_eq!(row.is_within(), !is_gone, "{row:?}");
    }
}

/// Writes a directory of arrays, each with the name of a value.
fn arrays(root: PathBuf, values: &[(&str, &[f32])]) -> PathBuf {
    std::fs::create_dir(&root).unwrap();
    for (name, values) in values {
        let tensor = Tensor::from_f32(vec![values.len()], values).unwrap();
        npy::write(&tensor.view(), &mut std::fs::File::create(root.join(format!("{name}.npy"))).unwrap()).unwrap();
    }
    root
}

#[test]
fn an_operator_is_not_blamed_alone_for_what_its_inputs_within_tolerance_may_explain() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(NAMES, &[100]);
    let reference = dump(&chain, dir.path().join("reference"), IoSelection::Outputs);
    let all = Some(Tolerance { absolute: 0.01, ..Tolerance::EXACT });
    let options = CompareOptions {
        graph: Some(Arc::clone(&chain.graph)),
        tolerances: Tolerances { all, ..Tolerances::default() },
        ..CompareOptions::default()
    };
    // The differences of the operator's input and output. Relative to the largest elements, 16 times as much can be
    // explained.
    for (brought, given, blame) in [
        (0.009, 0.011, Blame::Either),
        (0.001, 0.0155, Blame::Either),
        (0.001, 0.03, Blame::Operator),
        (0.0, 0.011, Blame::Operator),
        (0.011, 0.011, Blame::Operator),
    ] {
        let name = format!("{brought} {given}");
        let tensors = dump(&chain, dir.path().join(&name), IoSelection::Outputs);
        change(&tensors, "b", brought);
        change(&tensors, "c", given);
        let comparison = compare(&tensors, &reference, &options);
        assert_eq!(comparison.divergence.as_ref().map(|divergence| &divergence.blame), Some(&blame), "{name}");
        let text = comparison.text(Order::Graph, 100);
        assert_eq!(text.contains("may only hand that on"), blame == Blame::Either, "{text}");
    }
}

#[test]
fn a_cast_that_only_one_side_has_leaves_nothing_uncompared() {
    let dir = tempfile::tempdir().unwrap();
    let dumped = |name: &str, more: &[(&str, &str)]| {
        let begin = GraphBuilder::new("cast").input("x", &[4]).operator("a", "AddOne", &["x"], &["y"]);
        let graph = more.iter().fold(begin, |graph, (name, op_type)| graph.operator(name, op_type, &["y"], &[name]));
        let graph = Arc::new(graph.output("y").build());
        let groups: Vec<_> = ["a"].iter().chain(more.iter().map(|(name, _)| name)).map(std::slice::from_ref).collect();
        let plan = FakePlan::new(&graph, kernels(&graph, &groups), Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()));
        dump(&plan, dir.path().join(name), IoSelection::Outputs)
    };
    let (plain, cast, added) = (
        dumped("plain", &[]),
        dumped("cast", &[("half", "Cast")]),
        dumped("added", &[("half", "Cast"), ("b", "AddOne")]),
    );
    for (one, other, is_complete) in
        [(&cast, &plain, true), (&plain, &cast, true), (&added, &plain, false), (&plain, &added, false)]
    {
        let comparison = compare(one, other, &CompareOptions::default());
        assert_eq!((comparison.rows.len(), comparison.is_complete()), (1, is_complete), "{one:?} {other:?}");
        assert!(comparison.text(Order::Graph, 100).contains("half"), "it is listed");
    }
}

#[test]
fn an_operator_that_moves_values_is_blamed_for_what_its_inputs_do_not_explain() {
    let dir = tempfile::tempdir().unwrap();
    let graph = GraphBuilder::new("moved")
        .input("x", &[3])
        .operator("scale", "Mul", &["x"], &["s"])
        .operator("flip", "Slice", &["s"], &["m"])
        .operator("join", "Concat", &["m", "x"], &["j"])
        .output("j")
        .build();
    let options = CompareOptions { graph: Some(Arc::new(graph)), ..CompareOptions::default() };
    let x: &[f32] = &[1.0, 1.0, 1.0];
    let joined = |m: &[f32]| [m, x].concat();
    let reference: &[f32] = &[1000.0, 500.0, 0.001];
    let m = [0.001, 500.0, 1000.0];
    let j = joined(&m);
    let expected = arrays(dir.path().join("expected"), &[("x", x), ("s", reference), ("m", &m), ("j", &j)]);
    // The input is within its tolerance, but not identical.
    let rounded: &[f32] = &[1000.001, 500.0, 0.001];
    for (name, s, m, found, is_before) in [
        ("right", rounded, [0.001, 500.0, 1000.001], None, false),
        ("unmoved", rounded, [1000.001, 500.0, 0.001], Some("flip"), false),
        ("nan", rounded, [f32::NAN, 500.0, 1000.001], Some("flip"), false),
        ("exact", reference, [0.001, 500.0, 999.0], Some("flip"), false),
    ] {
        let j = joined(&m);
        let tensors = arrays(dir.path().join(name), &[("x", x), ("s", s), ("m", &m), ("j", &j)]);
        let comparison = compare(&tensors, &expected, &options);
        let divergence = comparison.divergence.as_ref();
        let operator = divergence.and_then(|divergence| divergence.operator.clone());
        let label = divergence.map(|divergence| divergence.tensor.place.label());
        assert_eq!(label.as_deref(), found.map(|_| "m"), "{name}");
        assert_eq!(operator.is_some_and(|operator| operator.is_before), is_before, "{name}");
        assert_eq!(divergence.map(|divergence| &divergence.blame), found.map(|_| &Blame::Operator), "{name}");
    }
    // There are small numbers beside large ones, and the slice has only the small ones.
    let small = [0.001, 0.001];
    let of = |name: &str, last: f32, m: &[f32]| {
        arrays(dir.path().join(name), &[("x", x), ("s", &[1000.0, last, 0.001]), ("m", m), ("j", &joined(m))])
    };
    let expected = of("small", 0.001, &small);
    let lost = compare(&of("lost", 0.011, &[0.011, 0.001]), &expected, &options).divergence.unwrap();
    let operator = lost.operator.unwrap();
    assert_eq!((operator.name.as_str(), operator.is_before), ("scale", true));
    // The difference is larger than that of the input.
    let worse = compare(&of("worse", 0.011, &[0.5, 0.001]), &expected, &options).divergence.unwrap();
    assert!(worse.operator.is_none_or(|operator| !operator.is_before));
    assert_eq!(worse.blame, Blame::Operator);
}

#[test]
fn statistics_of_a_quantised_model_differ_only_where_no_small_noise_explains_them() {
    let dir = tempfile::tempdir().unwrap();
    let dump = |op_type: &str, name: &str, values: [f32; 4]| {
        let graph = GraphBuilder::new("one").input("x", &[4]).operator("op", op_type, &["x"], &["y"]).output("y");
        let graph = Arc::new(graph.build());
        let kernels = kernels(&graph, &[&["op"]]);
        let plan = FakePlan::new(&graph, kernels, Fidelity::Exact, move |_, _| {
            Ok(vec![Tensor::from_f32(vec![4], &values).unwrap()])
        });
        let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
        let root = dir.path().join(name);
        let sink = DirectorySink::create(&root, Contents::Statistics, &info).unwrap();
        run_into(&plan, Box::new(sink), IoSelection::Outputs);
        root
    };
    let original = dump("Mul", "original", [-1.0, 0.0, 0.5, 1.0]);
    let outcome = |name, values| {
        let quantised = dump("DequantizeLinear", name, values);
        let comparison = compare(&quantised, &original, &CompareOptions::default());
        assert!(comparison.is_quantised);
        comparison.rows[0].outcome.clone()
    };
    assert_eq!(outcome("near", [-0.98, 0.02, 0.52, 0.98]), Outcome::Summarised(Summary::Alike));
    assert_eq!(outcome("same", [-1.0, 0.0, 0.5, 1.0]), Outcome::Summarised(Summary::Same));
    assert_eq!(outcome("far", [0.0, 1.0, 1.5, 2.0]), Outcome::Summarised(Summary::Different));
    assert_eq!(outcome("wide", [-3.0, 0.0, 0.5, 3.0]), Outcome::Summarised(Summary::Different));
    assert_eq!(outcome("nan", [-1.0, 0.0, f32::NAN, 1.0]), Outcome::Summarised(Summary::Different));
}
