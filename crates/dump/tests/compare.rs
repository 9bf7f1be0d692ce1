//! Comparing dumps: what belongs together, how far it is apart, and where it began.

mod chain;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chain::chain_of;
use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{
    Blame, CompareOptions, CompareSink, Comparison, Contents, Delivery, DirectorySink, DumpInfo, Dumper, IoSelection,
    KeepSink, Mapping, MatchedBy, Order, Outcome, Request, Selection, Sink, StoredDump, Tolerances,
};
use opscope_model::Fidelity;
use opscope_model::testing::FakePlan;
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

/// Adds to every element of an operator's output, and puts nothing into the index: it is read again.
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
    // Without the model's graph the inputs that were captured tell it.
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
