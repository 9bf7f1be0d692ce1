//! Names, sizes and limits of the files of a dump.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use opscope_dump::{
    Contents, DirectorySink, DumpInfo, Dumper, IoSelection, Request, Selection, StoredDump, close_abandoned,
};
use opscope_model::Fidelity;
use opscope_model::testing::FakePlan;

use crate::chain::chain_of;
use crate::{arrays, floats, giving};

fn info(plan: &FakePlan) -> DumpInfo {
    DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0")
}

/// Dumps these runs.
fn dump(root: &Path, plan: &FakePlan, runs: &[u64]) {
    let dumper = Dumper::new();
    let sink = DirectorySink::create(root, Contents::Tensors, &info(plan)).unwrap();
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    dumper.add_plan(plan, plan).unwrap();
    runs.iter().for_each(|run| drop(plan.run_with(&dumper, *run).unwrap()));
    dumper.finish().unwrap();
}

#[test]
fn files_are_named_by_run_operator_and_slot_with_numbers_that_sort() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let plan = chain_of(&["first/op", "b.c", "last"], &[2]);
    dump(&root, &plan, &[7, 12_345]);
    let mut files: Vec<_> = StoredDump::open(&root)
        .unwrap()
        .tensors
        .iter()
        .map(|tensor| tensor.file().unwrap().strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "constants/00002-last.output0.npy",
            "run-0007/00000-first_op.input0.npy",
            "run-0007/00000-first_op.output0.npy",
            "run-0007/00001-b_c.input0.npy",
            "run-0007/00001-b_c.output0.npy",
            "run-12345/00000-first_op.input0.npy",
            "run-12345/00000-first_op.output0.npy",
            "run-12345/00001-b_c.input0.npy",
            "run-12345/00001-b_c.output0.npy",
        ]
    );
}

#[test]
fn space_for_the_manifest_is_kept_while_a_dump_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let plan = giving("Relu", vec![floats(&[1.0])]);
    let sink = DirectorySink::create(&root, Contents::Tensors, &info(&plan)).unwrap();
    assert_eq!(fs::metadata(root.join(".reserve")).unwrap().len(), 65_536);
    // The manifest has the same permissions as every other file.
    let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode();
    assert_eq!(mode("manifest.json"), mode("index.jsonl"));
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    dumper.finish().unwrap();
    assert!(!root.join(".reserve").exists());
}

#[test]
fn arrays_are_found_eight_directories_deep() {
    let dir = tempfile::tempdir().unwrap();
    let deep = |levels: usize| dir.path().join(vec!["d"; levels].join("/"));
    arrays(&deep(8), &[("found", &floats(&[1.0]))]);
    arrays(&deep(9), &[("lost", &floats(&[1.0]))]);
    let stored = StoredDump::open(dir.path()).unwrap();
    let names: Vec<_> = stored.tensors.iter().filter_map(|tensor| tensor.place.value.as_deref()).collect();
    assert_eq!(names, ["d/d/d/d/d/d/d/d/found"]);
}

#[test]
fn a_line_of_the_index_has_a_mib_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    dump(&root, &chain_of(&["a", "b", "last"], &[2]), &[0]);
    let path = root.join("index.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    // Including its end, the line has 1 MiB, or one byte more.
    for (blanks, is_read) in [((1 << 20) - 1 - first.len(), true), ((1 << 20) - first.len(), false)] {
        fs::write(&path, format!("{first}{}\n{rest}", " ".repeat(blanks))).unwrap();
        let stored = StoredDump::open(&root).unwrap();
        assert_eq!((stored.tensors.len(), stored.is_complete()), if is_read { (5, true) } else { (0, false) });
    }
}

#[test]
fn an_index_is_given_up_at_more_than_a_thousand_lines_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    dump(&root, &chain_of(&["a", "b", "last"], &[2]), &[0]);
    let path = root.join("index.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    let with = |wrong: usize| {
        fs::write(&path, format!("{text}{}{last}\n", "x\n".repeat(wrong))).unwrap();
        StoredDump::open(&root).unwrap()
    };
    let stored = with(1000);
    assert_eq!(stored.tensors.len(), 6, "what follows is read");
    let stored = with(1001);
    assert_eq!(stored.tensors.len(), 5);
    let given_up = "index.jsonl, line 1006: more than 1000 lines cannot be used; the rest is not read";
    assert!(stored.problems.iter().any(|problem| problem == given_up), "{:?}", stored.problems.last());
}

#[test]
fn what_an_index_and_a_manifest_count_is_compared() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    dump(&root, &chain_of(&["a", "b", "last"], &[2]), &[0]);
    let path = root.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    // Five tensors of two floats.
    assert!(text.contains("\"tensors\": 5,") && text.contains("\"bytes\": 40,"), "{text}");
    for (from, to) in [("\"tensors\": 5,", "\"tensors\": 4,"), ("\"bytes\": 40,", "\"bytes\": 41,")] {
        fs::write(&path, text.replace(from, to)).unwrap();
        let stored = StoredDump::open(&root).unwrap();
        assert_eq!((stored.problems.len(), stored.is_complete()), (1, false));
        assert!(stored.problems[0].ends_with("index.jsonl has 5 of 40"), "{:?}", stored.problems);
    }
}

#[test]
fn a_line_that_is_cut_is_removed_however_long_it_is() {
    let dir = tempfile::tempdir().unwrap();
    for cut in [0, 1, 4094, 4095, 4096, 4097, 8192, 20_000] {
        for whole in ["", "{}\n", "{}\n[]\n"] {
            let root = dir.path().join(format!("{cut}-{}", whole.len()));
            let plan = giving("Relu", vec![floats(&[1.0])]);
            drop(DirectorySink::create(&root, Contents::Tensors, &info(&plan)).unwrap());
            let index = root.join("index.jsonl");
            fs::write(&index, format!("{whole}{}", "x".repeat(cut))).unwrap();
            close_abandoned(&root, "it crashed").unwrap();
            assert_eq!(fs::read_to_string(&index).unwrap(), whole, "{cut}");
        }
    }
}
