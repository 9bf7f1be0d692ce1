//! Snapshot tests: one small model is dumped in every format, and two of its dumps are compared. The files are compared
//! with reviewed ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_model::Fidelity;
use opscope_model::testing::{FakePlan, GraphBuilder, assert_snapshot, floats, kernels};
use opscope_tensor::{DType, Tensor};

use crate::ascend::{AscendSink, DirectoryTarget};
use crate::{
    CompareOptions, Comparison, Contents, Delivery, DirectorySink, DumpInfo, Dumper, IoSelection, KeepSink, MANIFEST,
    Manifest, Order, Request, Selection, Sink, StoredDump,
};

/// Returns a model with two additions, an operator with outputs of two other types, and a constant with a NaN. The
/// first addition adds these numbers.
fn plan(terms: [f32; 6]) -> FakePlan {
    plan_of("second", terms)
}

/// Returns the same model with another name for the second addition.
fn plan_of(second: &str, terms: [f32; 6]) -> FakePlan {
    let first = "first/op, \"a\"";
    let graph = GraphBuilder::new("small")
        .input("x", &[2, 3])
        .operator(first, "Add", &["x"], &["sum"])
        .operator(second, "Add", &["sum"], &["more"])
        .operator("split", "Split", &["more"], &["y", "indices"])
        .operator("constant", "Constant", &[], &["half"])
        .output("y")
        .build();
    let kernels = kernels(&graph, &[&[first], &[second], &["split"]]);
    let half = Tensor::from_f32(vec![2], &[0.5, f32::NAN]).expect("two elements");
    FakePlan::new(&Arc::new(graph), kernels, Fidelity::Exact, move |kernel, inputs| {
        let terms = if kernel.id.index() == 0 { terms } else { [0.25; 6] };
        let sum: Vec<f32> = floats(&inputs[0]).iter().zip(terms).map(|(element, term)| element + term).collect();
        let sum = Tensor::from_f32(vec![2, 3], &sum).expect("six elements");
        Ok(match &*kernel.op {
            "Add" => vec![sum],
            _ => vec![
                sum.cast(DType::Bf16).expect("numbers"),
                Tensor::from_i64(vec![3], &[-1, 0, i64::MAX]).expect("three elements"),
            ],
        })
    })
    .constant("half", half)
}

/// Dumps everything of two runs with inputs of zeros.
fn run_into(plan: &FakePlan, sink: Box<dyn Sink>) {
    let dumper = Dumper::new();
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    let delivery = Some(Delivery::Direct);
    dumper.subscribe(sink, Request { selection, delivery, ..Request::default() }).expect("a sink");
    dumper.add_plan(plan, plan).expect("its constants are taken");
    for run in 0..2 {
        let _ = plan.run_with(&dumper, run);
    }
    dumper.finish().expect("a report");
}

fn info(plan: &FakePlan) -> DumpInfo {
    DumpInfo::new(&plan.graph, Fidelity::Exact, "paper", "0.1")
}

/// Writes a dump of the model as a directory of its own format.
fn directory(root: &Path, plan: &FakePlan, contents: Contents) {
    let sink = DirectorySink::create(root, contents, &info(plan)).expect("a new directory");
    run_into(plan, Box::new(sink.with_histograms().expect("a new file")));
}

/// Returns the manifest with a fixed version of the writer.
fn manifest(root: &Path) -> Vec<u8> {
    let manifest: Manifest = serde_json::from_slice(&read(root, MANIFEST)).expect("a manifest");
    serde_json::to_vec_pretty(&Manifest { writer: "opscope 0.1.0".to_owned(), ..manifest }).expect("data")
}

fn read(root: &Path, name: &str) -> Vec<u8> {
    fs::read(root.join(name)).expect("a file")
}

/// Returns the path of every file below a directory, relative to it, in order.
fn files(root: &Path) -> Vec<PathBuf> {
    fn below(directory: &Path, into: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { below(&path, into) } else { into.push(path) }
        }
    }
    let mut found = Vec::new();
    below(root, &mut found);
    found.sort();
    found.iter().map(|path| path.strip_prefix(root).expect("it is below").to_path_buf()).collect()
}

fn lines(paths: &[PathBuf]) -> Vec<u8> {
    paths.iter().map(|path| format!("{}\n", path.display())).collect::<String>().into_bytes()
}

/// Returns the first of these files whose name ends with `end`.
fn ending<'a>(paths: &'a [PathBuf], end: &str) -> &'a str {
    let mut paths = paths.iter().filter_map(|path| path.to_str());
    paths.find(|path| path.ends_with(end)).unwrap_or_else(|| panic!("no file ends in {end}"))
}

#[test]
fn the_files_of_a_dump_are_as_they_were() {
    let directories = tempfile::tempdir().expect("a directory");
    let root = directories.path().join("tensors");
    directory(&root, &plan([1.0; 6]), Contents::Tensors);
    assert_snapshot!("dump_manifest.json", manifest(&root));
    assert_snapshot!("dump_index.jsonl", read(&root, "index.jsonl"));
    assert_snapshot!("dump_histograms.jsonl", read(&root, "histograms.jsonl"));
    let files = files(&root);
    assert_snapshot!("dump_files.txt", lines(&files));
    assert_snapshot!("dump_tensor.npy", read(&root, ending(&files, ".npy")));
    assert_snapshot!("dump_tensor.bin", read(&root, ending(&files, ".bin")));
}

#[test]
fn the_files_of_a_dump_of_statistics_are_as_they_were() {
    let directories = tempfile::tempdir().expect("a directory");
    let root = directories.path().join("statistics");
    directory(&root, &plan([1.0; 6]), Contents::Statistics);
    assert_snapshot!("statistics_manifest.json", manifest(&root));
    assert_snapshot!("statistics_index.jsonl", read(&root, "index.jsonl"));
    assert_snapshot!("statistics.csv", read(&root, "statistics.csv"));
    assert_eq!(files(&root).len(), 4, "no tensor has a file");
}

#[test]
fn the_manifest_of_a_dump_whose_runs_failed_is_as_it_was() {
    let directories = tempfile::tempdir().expect("a directory");
    let root = directories.path().join("failed");
    directory(&root, &plan([1.0; 6]).fail_at(1), Contents::Tensors);
    assert_snapshot!("failed_manifest.json", manifest(&root));
}

#[test]
fn the_files_of_an_ascend_dump_are_as_they_were() {
    let directories = tempfile::tempdir().expect("a directory");
    let root = directories.path().join("20260101000000");
    // The name of this operator is too long for a file name.
    let plan = plan_of(&"x".repeat(300), [1.0; 6]);
    let target = DirectoryTarget::create(&root, &info(&plan)).expect("a new directory");
    let sink = AscendSink::new(target, 1 << 20).with_clock(|| 1_700_000_000_000_000);
    run_into(&plan, Box::new(sink));
    assert_snapshot!("ascend_manifest.json", manifest(&root));
    let files = files(&root);
    assert_snapshot!("ascend_files.txt", lines(&files));
    assert_snapshot!("ascend_mapping.csv", read(&root, ending(&files, "mapping.csv")));
    let of = |op_type: &str| {
        let begins = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(op_type));
        let path = files.iter().find(begins).and_then(|path| path.to_str()).expect("a file of this type");
        read(&root, path)
    };
    assert_snapshot!("ascend_add.bin", of("Add."));
    assert_snapshot!("ascend_split.bin", of("Split."));
    assert_snapshot!("ascend_constant.bin", of("Constant."));
}

#[test]
fn a_comparison_is_as_it_was_in_every_format() {
    let kept = |terms, name: &str| {
        let spill = tempfile::tempdir().expect("a directory");
        let (sink, keeper) = KeepSink::new(u64::MAX, spill.path().into());
        run_into(&plan(terms), Box::new(sink));
        StoredDump { path: name.into(), ..keeper.dump() }
    };
    let (one, mut other) = (kept([1.0; 6], "one"), kept([1.5, 1.0, 1.0, 1.0, 1.0, f32::NAN], "other"));
    other.tensors.retain(|tensor| tensor.place.value.as_deref() != Some("indices"));
    let options = CompareOptions { graph: Some(plan([1.0; 6]).graph), ..CompareOptions::default() };
    let comparison = Comparison::of(&one, &other, &options);
    assert_snapshot!("comparison.json", serde_json::to_vec_pretty(&comparison.json()).expect("data"));
    assert_snapshot!("comparison.csv", comparison.csv().into_bytes());
    assert_snapshot!("comparison.txt", comparison.text(Order::Graph, 100).into_bytes());
    assert_snapshot!("comparison_by_error.txt", comparison.text(Order::Error, 3).into_bytes());
}
