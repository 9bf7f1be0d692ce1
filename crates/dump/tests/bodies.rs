//! Operators in loops: their tensors are delivered once per iteration, and are distinguished everywhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{
    Blame, CompareOptions, Comparison, Contents, Delivery, DirectorySink, DumpInfo, DumpReport, Dumper, Estimate,
    INDEX, IndexLine, IoSelection, MANIFEST, Manifest, Order, Request, Selection, StoredDump, Verdict,
};
use opscope_model::testing::{FakePlan, failure, floats, kernels, looping};
use opscope_model::{Fidelity, LoopIteration};
use opscope_onnx::{CodeOrigin, Graph, Module, Pattern};
use opscope_tensor::{Tensor, npy};

fn dumped(plan: &FakePlan, root: &Path, contents: Contents, selection: Selection) -> DumpReport {
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(root, contents, &info).unwrap().with_histograms().unwrap();
    let dumper = Dumper::new();
    dumper
        .subscribe(Box::new(sink), Request { selection, delivery: Some(Delivery::Direct), ..Request::default() })
        .unwrap();
    dumper.add_plan(plan, plan).unwrap();
    // The run may be made to fail, and then leaves its reason in the dump.
    let _ = plan.run_with(&dumper, 0);
    dumper.finish().unwrap()
}

fn all() -> Selection {
    // The file of the model has no weights to read.
    Selection { io: IoSelection::All, name_blacklist: without_weights(), ..Selection::default() }
}

fn without_weights() -> Vec<opscope_dump::BlacklistEntry> {
    vec![opscope_dump::BlacklistEntry { name: "Loop_0/Add_0".into(), positions: vec!["input2".parse().unwrap()] }]
}

fn index(root: &Path) -> Vec<IndexLine> {
    let text = std::fs::read_to_string(root.join(INDEX)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn manifest(root: &Path) -> Manifest {
    serde_json::from_slice(&std::fs::read(root.join(MANIFEST)).unwrap()).unwrap()
}

fn iteration(line: &IndexLine) -> Vec<u32> {
    assert!(line.iterations.iter().all(|iteration| iteration.operator == "Loop_0"), "If_0 has none: {line:?}");
    line.iterations.iter().map(|iteration| iteration.index).collect()
}

#[test]
fn every_iteration_has_its_lines_and_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let report = dumped(&looping(3), &root, Contents::Tensors, all());
    assert!(report.is_complete(), "{report:?}");

    let lines = index(&root);
    let sums: Vec<_> = lines.iter().filter(|line| line.operator == "Loop_0/Add_0" && line.io == "output").collect();
    assert_eq!(sums.iter().map(|line| iteration(line)).collect::<Vec<_>>(), [[0], [1], [2]]);
    assert_eq!(
        sums.iter().map(|line| (line.min, line.max)).collect::<Vec<_>>(),
        [(Some(1.0), Some(12.0)), (Some(2.0), Some(14.0)), (Some(3.0), Some(16.0))]
    );
    let states = lines.iter().filter(|line| line.value == "Loop_0/state").map(|line| (iteration(line), line.max));
    let expected = [(vec![0], Some(10.0)), (vec![1], Some(12.0)), (vec![2], Some(14.0))];
    assert_eq!(states.collect::<Vec<_>>(), expected);
    assert!(lines.iter().filter(|line| line.operator == "first").all(|line| line.iterations.is_empty()));
    let files: BTreeSet<_> = lines.iter().map(|line| line.file.as_deref().unwrap()).collect();
    assert_eq!(files.len(), lines.len());
    assert!(files.contains("run-0000/00002-Loop_0_Add_0.1.output0.npy"), "{files:?}");
    assert!(files.contains("run-0000/00004-Loop_0_If_0_Neg_0.2.output0.npy"), "{files:?}");

    let stored = StoredDump::open(&root).unwrap();
    assert!(stored.is_complete(), "{:?}", stored.problems);
    let labels: Vec<_> = stored.tensors.iter().map(|tensor| tensor.place.label()).collect();
    assert!(labels.contains(&"Loop_0/sum[2]".to_owned()), "{labels:?}");
    let histograms = std::fs::read_to_string(root.join("histograms.jsonl")).unwrap();
    assert_eq!(histograms.matches(r#""iterations":[{"operator":"Loop_0","index":1}]"#).count(), 7, "{histograms}");
}

#[test]
fn statistics_say_the_iteration() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    assert!(dumped(&looping(2), &root, Contents::Statistics, Selection::default()).is_complete());
    let mut table = csv::Reader::from_path(root.join("statistics.csv")).unwrap();
    let mut column = |name: &str| table.headers().unwrap().iter().position(|header| header == name).unwrap();
    let (name, iteration) = (column("Op Name"), column("Iteration"));
    let rows = table.records().map(|row| row.unwrap()).map(|row| format!("{} {}", &row[name], &row[iteration]));
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            "first NA",
            "Loop_0/Add_0 [0]",
            "Loop_0/If_0/Neg_0 [0]",
            "Loop_0/If_0 [0]",
            "Loop_0/Add_0 [1]",
            "Loop_0/If_0/Neg_0 [1]",
            "Loop_0/If_0 [1]",
            "Loop_0 NA"
        ]
    );
}

#[test]
fn ascendcls_files_have_all_tensors_of_one_iteration() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let plan = looping(40);
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let sink = AscendSink::new(DirectoryTarget::create(&root, &info).unwrap(), 1 << 20);
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink), Request { selection: all(), ..Request::default() }).unwrap();
    dumper.add_plan(&plan, &plan).unwrap();
    plan.run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().is_complete());

    let stored = StoredDump::open(&root).unwrap();
    assert!(stored.is_complete(), "{:?}", stored.problems);
    let adds: Vec<_> =
        stored.tensors.iter().filter(|tensor| tensor.place.operator.as_deref() == Some("Loop_0/Add_0")).collect();
    assert_eq!(adds.len(), 40 * 3);
    for (index, tensors) in adds.chunks(3).enumerate() {
        let values: Vec<_> = tensors.iter().map(|tensor| tensor.place.value.as_deref().unwrap()).collect();
        assert_eq!(values, ["Loop_0/state", "a", "Loop_0/sum"]);
        assert!(tensors.iter().all(|tensor| tensor.place.iterations[0].index as usize == index));
        assert_eq!(floats(&tensors[2].read().unwrap()), [index as f32 + 1.0, 12.0 + 2.0 * index as f32]);
        let file = tensors[0].file().unwrap();
        assert!(tensors.iter().all(|tensor| tensor.file() == Some(file)));
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(&format!("Sum.Loop_0_Add_0_{index}.3.0.")), "{name}");
    }
}

/// Adds to the elements of a tensor in a dump.
fn change(root: &Path, label: &str) {
    let stored = StoredDump::open(root).unwrap();
    let found = stored.tensors.iter().filter(|tensor| tensor.place.label() == label);
    let tensor = found.into_iter().next().unwrap_or_else(|| panic!("no tensor is {label}"));
    let elements: Vec<f32> = floats(&tensor.read().unwrap()).iter().map(|element| element + 1.0).collect();
    let changed = Tensor::from_f32(tensor.shape.clone(), &elements).unwrap();
    npy::write(&changed.view(), &mut std::fs::File::create(tensor.file().unwrap()).unwrap()).unwrap();
}

fn compare(a: &Path, b: &Path, plan: &FakePlan) -> Comparison {
    let options =
        CompareOptions { graph: Some(Arc::clone(&plan.graph)), same_inputs: true, ..CompareOptions::default() };
    Comparison::of(&StoredDump::open(a).unwrap(), &StoredDump::open(b).unwrap(), &options)
}

#[test]
fn tensors_of_the_same_iteration_are_compared_and_the_first_that_differs_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let plan = looping(3);
    let dump = |name: &str| -> PathBuf {
        let root = dir.path().join(name);
        dumped(&plan, &root, Contents::Tensors, all());
        root
    };
    let (same, changed) = (dump("same"), dump("changed"));
    let comparison = compare(&same, &dump("reference"), &plan);
    assert_eq!((comparison.verdict(), comparison.rows.len()), (Verdict::Same, 2 + 3 * 7 + 2));
    assert!(comparison.rows.iter().all(|row| row.place.iterations == row.reference.iterations));

    // The tensor of the first iteration comes before the other one, although its operator comes later in the body.
    for tensor in ["Loop_0/sum[2]", "Loop_0/If_0/negative[1]", "y"] {
        change(&changed, tensor);
    }
    let comparison = compare(&changed, &same, &plan);
    let first = comparison.divergence.as_ref().unwrap();
    assert_eq!(comparison.rows[first.row].place.label(), "Loop_0/If_0/negative[1]");
    assert_eq!(first.blame, Blame::Operator, "its input is the sum of the same iteration, which is right");
    let text = comparison.text(Order::Graph, 100);
    assert!(text.contains("first to diverge: operator 'Loop_0/If_0/Neg_0[1]' (Neg)"), "{text}");
    let json = comparison.json();
    let place = (&json["first_divergence"]["operator"], &json["first_divergence"]["iterations"][0]["index"]);
    assert_eq!(place, (&"Loop_0/If_0/Neg_0".into(), &1.into()));
    let csv = comparison.csv();
    assert!(csv.lines().next().unwrap().ends_with(",iterations"), "{csv}");
    assert!(csv.lines().any(|line| line.contains("Loop_0/If_0/Neg_0") && line.ends_with(",[2]")), "{csv}");
}

#[test]
fn an_iteration_that_one_side_lacks_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (short, long) = (dir.path().join("short"), dir.path().join("long"));
    let outputs = Selection::default;
    dumped(&looping(2), &short, Contents::Tensors, outputs());
    dumped(&looping(3), &long, Contents::Tensors, outputs());
    let comparison = compare(&short, &long, &looping(2));
    let only: Vec<_> = comparison.only_in_reference.iter().map(|place| place.label()).collect();
    assert_eq!(only, ["Loop_0/sum[2]", "Loop_0/If_0/negative[2]", "Loop_0/chosen[2]"]);
    assert!(comparison.only_in_tensors.is_empty() && comparison.verdict() == Verdict::Unknown);
}

#[test]
fn a_run_that_fails_in_an_iteration_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let graph = looping(3).graph;
    let fails = looping(3).computing(move |kernel, inputs| {
        let state = floats(&inputs[0]);
        match kernel.op.as_str() {
            "Neg" if state[0] == 2.0 => Err(failure(&graph, kernel, "it has had enough")),
            _ => Ok(vec![Tensor::from_f32(vec![2], &[state[0] + 1.0, 0.0]).expect("two elements")]),
        }
    });
    let report = dumped(&fails, &root, Contents::Tensors, Selection::default());
    assert!(!report.is_complete());
    let manifest = manifest(&root);
    let in_flight = manifest.runs[0].in_flight.iter();
    let in_flight: Vec<_> =
        in_flight.map(|one| format!("{}{}", one.operator, LoopIteration::indices(&one.iterations))).collect();
    assert_eq!(in_flight, ["Loop_0", "Loop_0/If_0[1]", "Loop_0/If_0/Neg_0[1]"]);
    let lost = manifest.missing.iter().find(|missing| missing.operator == "Loop_0/If_0/Neg_0").unwrap();
    assert_eq!(lost.iterations.iter().map(|iteration| iteration.index).collect::<Vec<_>>(), [1]);
    assert_eq!(manifest.missing.len(), 3, "and what the operators around it give: {:?}", manifest.missing);
    let named = &report.subscriptions[0].losses.named()[2].origin;
    assert_eq!(named.to_string(), "'Loop_0/If_0/negative' (output 0 of operator 'Loop_0/If_0/Neg_0[1]', run 0)");
}

#[test]
fn what_an_engine_does_not_show_is_missing_only_where_it_is_asked_for() {
    let plan = looping(3);
    let main = kernels(&plan.graph, &[&["first"], &["Loop_0"]]);
    let plan = FakePlan::new(&plan.graph, main, Fidelity::Exact, |_, inputs| {
        Ok(vec![Tensor::from_f32(vec![2], &floats(&inputs[0])).expect("two elements")])
    });
    let dir = tempfile::tempdir().unwrap();
    let root = |name: &str| dir.path().join(name);
    let report = dumped(&plan, &root("all"), Contents::Tensors, Selection::default());
    assert!(report.is_complete() && report.subscriptions[0].delivered.tensors == 2, "{report:?}");
    let named = Selection { operators: vec![Pattern::Exact("Loop_0/Add_0".into())], ..Selection::default() };
    let report = dumped(&plan, &root("named"), Contents::Tensors, named.clone());
    let losses = &report.subscriptions[0].losses;
    assert_eq!((losses.count(), report.subscriptions[0].delivered.tensors), (1, 0));
    assert_eq!(losses.named()[0].reason, "the engine executes the operator around it as a whole");
    assert_eq!(Estimate::of(&named, &plan, &plan, 1).unwrap().missing, 1);
    // The module that it lies in is also a name.
    let mut graph = Graph::clone(&plan.graph);
    let added = graph.inner_operators.iter_mut().find(|operator| operator.name == "Loop_0/Add_0").unwrap();
    let module = Module { path: "decoder".to_owned(), class: String::new() };
    let display_name = "decoder (Add)".to_owned();
    added.origin = Some(CodeOrigin { display_name, modules: vec![module], source: None, traced: None });
    let graph = Arc::new(graph);
    let main = kernels(&graph, &[&["first"], &["Loop_0"]]);
    let plan = FakePlan::new(&graph, main, Fidelity::Exact, |_, inputs| {
        Ok(vec![Tensor::from_f32(vec![2], &floats(&inputs[0])).expect("two elements")])
    });
    for name in ["decoder", "decoder (Add)"] {
        let selection = Selection { operators: vec![Pattern::Exact(name.into())], ..Selection::default() };
        assert_eq!(Estimate::of(&selection, &plan, &plan, 1).unwrap().missing, 1, "{name}");
    }
}

#[test]
fn the_estimate_counts_tensors_of_bodies_as_of_unknown_size() {
    let plan = looping(3);
    let estimate = Estimate::of(&Selection::default(), &plan, &plan, 2).unwrap();
    assert_eq!((estimate.tensors, estimate.unknown, estimate.bytes), (10, 6, 2 * 2 * 8));
}
