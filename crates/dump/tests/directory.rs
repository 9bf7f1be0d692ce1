//! The contents of a dump's own directory, whatever the names of the operators are and however the run ends.

mod chain;

use std::collections::HashSet;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use chain::chain_of;
use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{
    BlacklistEntry, Contents, DirectorySink, DumpInfo, DumpReport, Dumper, Estimate, IndexLine, IoSelection, Manifest,
    OperatorRange, Pattern, Request, Selection, State,
};
use opscope_model::Fidelity;
use opscope_model::testing::FakePlan;
use opscope_tensor::{Statistics, npy};

const HOSTILE: &[&str] =
    &["/layer.0/Conv", "/LAYER.0/Conv", "../../etc/passwd", "", ".", "nul\0byte", "卷积", "a\nb\"c,d", "CON", "last"];

fn dump(chain: &FakePlan, root: &Path, contents: Contents, selection: Selection, runs: u64) -> DumpReport {
    let dumper = Dumper::new();
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(root, contents, &info).unwrap();
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    dumper.add_plan(chain, chain).unwrap();
    for run in 0..runs {
        let _ = chain.run_with(&dumper, run);
    }
    dumper.finish().unwrap()
}

fn index(root: &Path) -> Vec<IndexLine> {
    let text = std::fs::read_to_string(root.join("index.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn manifest(root: &Path) -> Manifest {
    serde_json::from_slice(&std::fs::read(root.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn every_output_of_every_operator_is_there_under_hostile_names_and_nothing_leaves_the_directory() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let long = "x".repeat(5000);
    let names: Vec<&str> = [long.as_str()].iter().chain(HOSTILE).copied().collect();
    let chain = chain_of(&names, &[2, 3]);
    let report = dump(&chain, &root, Contents::Tensors, Selection::default(), 2);
    assert!(report.is_complete(), "{report:?}");

    let lines = index(&root);
    let files: HashSet<String> = lines.iter().map(|line| line.file.clone().unwrap().to_lowercase()).collect();
    assert_eq!(files.len(), lines.len(), "every file has a name of its own, also where case does not count");
    for (operator, name) in names.iter().enumerate() {
        let constant = operator + 1 == names.len();
        let of_operator: Vec<_> = lines.iter().filter(|line| line.operator == *name).collect();
        assert_eq!(of_operator.len(), if constant { 1 } else { 2 }, "{name:?}");
        for line in of_operator {
            assert_eq!((line.io.as_str(), line.slot, line.state), ("output", 0, State::Complete));
            assert_eq!(line.value, format!("value {}", operator + 1));
            assert_eq!(line.run.is_none(), constant);
            let file = Path::new(line.file.as_ref().unwrap());
            assert!(file.components().all(|part| matches!(part, Component::Normal(_))), "{file:?}");
            let tensor = npy::read_file(&root.join(file)).unwrap();
            let statistics = Statistics::of(&tensor.view()).unwrap();
            assert_eq!(line.xxh3, Some(statistics.xxh3));
            assert_eq!((line.min, line.max, line.nan), (statistics.min, statistics.max, Some(statistics.nan)));
            if !constant {
                assert_eq!((tensor.shape(), line.mean), (&[2, 3][..], Some(operator as f64 + 1.0)));
            }
        }
    }
    let manifest = manifest(&root);
    assert!(manifest.complete);
    assert_eq!((manifest.tensors, manifest.runs.len(), manifest.fidelity), (lines.len() as u64, 2, Fidelity::Exact));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was written beside the dump");
}

#[test]
fn tensors_of_another_model_are_left_out_and_each_such_model_is_one_error() {
    for contents in [Contents::Tensors, Contents::Statistics] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("dump");
        let (own, other) = (chain_of(&["a", "last"], &[4]), chain_of(&["a", "b", "last"], &[4]));
        let dumper = Dumper::new();
        let info = DumpInfo::new(&own.graph, Fidelity::Exact, "fake", "1.0");
        let sink = DirectorySink::create(&root, contents, &info).unwrap();
        dumper.subscribe(Box::new(sink), Request::default()).unwrap();
        for (run, chain) in [&own, &other, &other].into_iter().enumerate() {
            chain.run_with(&dumper, run as u64).unwrap();
        }
        let report = dumper.finish().unwrap();
        assert!(!report.is_complete(), "{report:?}");
        let lines: Vec<_> = index(&root).into_iter().map(|line| (line.run, line.operator)).collect();
        assert_eq!(lines, [(Some(0), "a".to_owned())], "{contents:?}");
        let errors = manifest(&root).errors;
        let told = errors.iter().filter(|error| error.contains("is another model than the dump's")).count();
        assert_eq!((told, errors.len()), (1, 1), "{errors:?}");
    }
}

#[test]
fn inputs_come_where_they_are_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "c"], &[4]);
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    assert!(dump(&chain, &root, Contents::Tensors, selection, 1).is_complete());
    let lines = index(&root);
    let of_b: Vec<_> = lines.iter().filter(|line| line.operator == "b").map(|line| (&*line.io, line.mean)).collect();
    assert_eq!(of_b, [("input", Some(1.0)), ("output", Some(2.0))]);
    assert!(lines.iter().any(|line| line.operator == "a" && line.io == "input" && line.value == "x"));
}

#[test]
fn a_selection_takes_what_it_names_and_nothing_else() {
    let chain = chain_of(&["conv_1", "conv_2", "relu_3", "conv_4", "last"], &[4]);
    let entry =
        |name: &str, position: &str| BlacklistEntry { name: name.into(), positions: vec![position.parse().unwrap()] };
    let none = Selection::default;
    let cases = [
        (
            Selection { operators: vec![Pattern::parse("conv_*").unwrap()], ..none() },
            vec!["conv_1", "conv_2", "conv_4"],
        ),
        (Selection { operators: vec![Pattern::parse("re:_[12]$").unwrap()], ..none() }, vec!["conv_1", "conv_2"]),
        (Selection { op_types: vec![Pattern::Exact("Constant".into())], ..none() }, vec!["last"]),
        (
            Selection { ranges: vec![OperatorRange { begin: "conv_2".into(), end: "conv_4".into() }], ..none() },
            vec!["conv_2", "relu_3", "conv_4"],
        ),
        (Selection { type_blacklist: vec![entry("AddOne", "output0")], ..none() }, vec!["last"]),
        (
            Selection { name_blacklist: vec![entry("last", "output0"), entry("conv_1", "input0")], ..none() },
            vec!["conv_1", "conv_2", "relu_3", "conv_4"],
        ),
        (Selection { slots: Some(vec![1]), ..none() }, vec![]),
        (
            Selection { runs: "1|3-4".parse().unwrap(), op_types: vec![Pattern::Exact("AddOne".into())], ..none() },
            vec![],
        ),
        (Selection { first: Some(2), ..none() }, vec!["last", "conv_1"]),
        (Selection { only_non_finite: true, ..none() }, vec!["last"]),
    ];
    for (selection, expected) in cases {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("dump");
        let text = format!("{selection:?}");
        assert!(dump(&chain, &root, Contents::Tensors, selection, 1).is_complete());
        let found: Vec<_> = index(&root).into_iter().map(|line| line.operator).collect();
        let expected: HashSet<_> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(found.len(), expected.len(), "{text}");
        assert_eq!(found.into_iter().collect::<HashSet<_>>(), expected, "{text}");
    }
}

#[test]
fn an_estimate_is_what_then_comes() {
    let chain = chain_of(&["a", "b", "c", "last"], &[5, 7]);
    let none = Selection::default;
    let cases = [
        none(),
        Selection { io: IoSelection::All, runs: "1-2".parse().unwrap(), ..none() },
        Selection { operators: vec![Pattern::Exact("b".into())], ..none() },
        Selection { first: Some(3), ..none() },
        Selection { only_non_finite: true, ..none() },
    ];
    for selection in cases {
        let estimate = Estimate::of(&selection, &chain, &chain, 4).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("dump");
        dump(&chain, &root, Contents::Tensors, selection, 4);
        let manifest = manifest(&root);
        if estimate.at_most {
            assert!(manifest.tensors <= estimate.tensors && manifest.bytes <= estimate.bytes, "{estimate:?}");
        } else {
            assert_eq!((manifest.tensors, manifest.bytes), (estimate.tensors, estimate.bytes));
        }
        assert_eq!((estimate.unknown, estimate.missing), (0, 0));
    }
}

#[test]
fn what_a_byte_budget_leaves_out_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "c"], &[100]);
    let selection = Selection { byte_budget: Some(420), ..Selection::default() };
    let report = dump(&chain, &root, Contents::Tensors, selection, 1);
    assert!(!report.is_complete());
    let missing = manifest(&root).missing;
    assert_eq!((missing.len(), missing[0].operator.as_str(), missing[0].run), (1, "b", Some(0)));
    assert!(missing[0].reason.contains("byte budget"));
}

#[test]
fn names_that_the_model_does_not_have_are_refused_with_the_nearest() {
    let chain = chain_of(&["conv_1", "conv_2"], &[4]);
    let operators = vec![Pattern::Exact("conv_7".into()), Pattern::Exact("conv_1".into())];
    let errors = Selection { operators, ..Selection::default() }.check(&chain.graph, u64::MAX).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("there is 'conv_"), "{}", errors[0]);
}

#[test]
fn statistics_alone_leave_a_table_and_an_index_without_files() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "c"], &[2, 2]);
    assert!(dump(&chain, &root, Contents::Statistics, Selection::default(), 1).is_complete());
    assert!(index(&root).iter().all(|line| line.file.is_none() && line.state == State::Statistics));
    assert!(root.join("statistics.csv").exists());
    assert!(!root.join("run-0000").exists());
}

#[test]
fn histograms_count_every_element_of_every_tensor() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "last"], &[100, 100]);
    let dumper = Dumper::new();
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(&root, Contents::Statistics, &info).unwrap().with_histograms().unwrap();
    dumper.subscribe(Box::new(sink), Request { piece_size: 4096, ..Request::default() }).unwrap();
    dumper.add_plan(&chain, &chain).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().is_complete());
    let text = std::fs::read_to_string(root.join("histograms.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["non_finite"], &lines[0]["bins"]), (&1.into(), &serde_json::json!([[0.5, 1.0, 1]])));
    assert_eq!(lines[2]["bins"], serde_json::json!([[2.0, 4.0, 10000]]));
}

#[test]
fn a_run_that_fails_leaves_what_was_captured_and_the_operator_in_flight_with_its_inputs() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "c", "d", "last"], &[4]).fail_at(2);
    let report = dump(&chain, &root, Contents::Tensors, Selection::default(), 1);
    assert!(!report.is_complete());
    let manifest = manifest(&root);
    assert!(!manifest.complete);
    assert!(manifest.runs[0].failure.as_ref().unwrap().contains("made to fail"));
    let in_flight = &manifest.runs[0].in_flight;
    assert_eq!((in_flight.len(), in_flight[0].operator.as_str()), (1, "c"));
    assert_eq!(in_flight[0].inputs, [Some("value 2".to_owned())]);
    let lost: Vec<_> = manifest.missing.iter().map(|missing| missing.operator.as_str()).collect();
    assert_eq!(lost, ["c", "d"]);
    let there: Vec<_> = index(&root).into_iter().map(|line| line.operator).collect();
    assert_eq!(there, ["last", "a", "b"]);
}

#[test]
fn what_the_operator_in_flight_took_is_there_although_it_was_not_selected() {
    for (fails_at, operator, value) in [(0, "a", "x"), (2, "c", "value 2")] {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("dump");
        let chain = chain_of(&["a", "b", "c", "d", "last"], &[4]).fail_at(fails_at);
        let selection = Selection { operators: vec![Pattern::Exact("d".into())], ..Selection::default() };
        dump(&chain, &root, Contents::Tensors, selection, 1);
        let lines = index(&root);
        assert_eq!(lines.len(), 1);
        let line = &lines[0];
        assert_eq!((line.operator.as_str(), line.io.as_str(), line.value.as_str()), (operator, "input", value));
        assert_eq!(line.mean, Some(fails_at as f64));
    }
}

#[test]
fn a_dump_that_was_never_closed_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b"], &[4]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    drop(DirectorySink::create(&root, Contents::Tensors, &info).unwrap());
    let manifest = manifest(&root);
    assert!(!manifest.complete && manifest.errors[0].contains("not closed"));
    assert!(DirectorySink::create(&root, Contents::Tensors, &info).is_err(), "nothing that exists is overwritten");
}

#[test]
fn a_directory_that_cannot_be_written_any_more_stops_the_dump_and_not_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = chain_of(&["a", "b", "c"], &[4]);
    let dumper = Dumper::new();
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(&root, Contents::Tensors, &info).unwrap();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    // A file takes the place of the run's directory, which stops even a privileged user.
    std::fs::write(root.join("run-0000"), "").unwrap();
    chain.run_with(&dumper, 0).unwrap();
    let report = dumper.finish().unwrap();
    assert!(!report.is_complete());
    let manifest = manifest(&root);
    assert_eq!(manifest.missing.iter().filter(|missing| missing.run == Some(0)).count(), 2);
    assert!(manifest.errors.iter().any(|error| error.contains("could not be written")), "{manifest:?}");
}

#[test]
fn links_that_someone_prepares_in_a_dump_are_not_written_through() {
    let dir = tempfile::tempdir().unwrap();
    let (root, elsewhere) = (dir.path().join("dump"), dir.path().join("elsewhere"));
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("mine"), "mine").unwrap();
    let chain = chain_of(&["a", "b", "c"], &[4]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let own = DirectorySink::create(&root, Contents::Tensors, &info).unwrap();
    let ascend_root = dir.path().join("ascend");
    let ascend = AscendSink::new(DirectoryTarget::create(&ascend_root, &info).unwrap(), 4096);
    // The manifest that will be replaced is a link, too.
    for (root, directory) in [(&root, "run-0000"), (&ascend_root, "0")] {
        symlink(&elsewhere, root.join(directory)).unwrap();
        symlink(elsewhere.join("mine"), root.join(".manifest.json")).unwrap();
        std::fs::remove_file(root.join("manifest.json")).unwrap();
        symlink(elsewhere.join("mine"), root.join("manifest.json")).unwrap();
    }
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(own), Request::default()).unwrap();
    dumper.subscribe(Box::new(ascend), Request::default()).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    assert!(!dumper.finish().unwrap().is_complete());
    for root in [&root, &ascend_root] {
        assert!(manifest(root).errors.iter().any(|error| error.contains("could not be written")));
    }
    assert_eq!(std::fs::read_to_string(elsewhere.join("mine")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
}
