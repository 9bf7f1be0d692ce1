//! Reading dumps that someone else may have made.

mod fake;

use std::path::{Path, PathBuf};

use fake::Chain;
use opscope_dump::{About, Contents, DirectorySink, Dumper, Inspection, Request, StoredDump};
use opscope_model::Fidelity;

fn dump(root: PathBuf) -> PathBuf {
    let chain = Chain::new(&["a", "b", "last"], &[2, 3]);
    let about = About::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let sink = DirectorySink::create(&root, Contents::Tensors, &about).unwrap();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    dumper.add_plan(&chain, &chain).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    dumper.finish().unwrap();
    root
}

fn edit_index(root: &Path, edit: impl Fn(&mut String)) {
    let path = root.join("index.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    edit(&mut text);
    std::fs::write(path, text).unwrap();
}

#[test]
fn paths_that_lead_out_of_a_dump_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("secret.npy");
    let root = dump(dir.path().join("dump"));
    let file = "run-0000/00001-b.output0.npy";
    std::fs::copy(root.join(file), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, root.join("link.npy")).unwrap();
    for hostile in ["../secret.npy", outside.to_str().unwrap(), "run-0000/../../secret.npy", "link.npy", ".", ""] {
        let copy = dir.path().join("copy");
        std::fs::remove_dir_all(&copy).unwrap_or_default();
        std::process::Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap();
        edit_index(&copy, |text| *text = text.replace(file, hostile));
        let stored = StoredDump::open(&copy).unwrap();
        assert_eq!(stored.tensors.len(), 2, "{hostile}");
        assert_eq!(stored.problems.len(), 1, "{hostile}: {:?}", stored.problems);
    }
}

#[test]
fn what_a_killed_process_left_is_read_up_to_where_it_came() {
    let dir = tempfile::tempdir().unwrap();
    let root = dump(dir.path().join("dump"));
    edit_index(&root, |text| text.truncate(text.len() - 20));
    std::fs::remove_file(root.join("manifest.json")).unwrap();
    let stored = StoredDump::open(&root).unwrap();
    assert_eq!((stored.tensors.len(), stored.manifest.is_some()), (2, false));
    assert_eq!(stored.problems.len(), 2);
}

#[test]
fn a_file_that_is_not_what_the_index_says_is_a_problem() {
    let dir = tempfile::tempdir().unwrap();
    let root = dump(dir.path().join("dump"));
    let file = root.join("run-0000/00001-b.output0.npy");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.pop();
    std::fs::write(&file, bytes).unwrap();
    assert!(StoredDump::open(&root).unwrap().problems[0].contains("not what its header asks for"));
    edit_index(&root, |text| *text = text.replace("float32", "float64"));
    assert_eq!(StoredDump::open(&root).unwrap().problems.len(), 3);
}

#[test]
fn a_directory_without_a_dump_is_said_to_have_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(StoredDump::open(dir.path()).unwrap_err().to_string().contains("no dump here"));
    assert!(StoredDump::open(&dir.path().join("nothing")).is_err());
    std::fs::write(dir.path().join("x.npy"), "not npy").unwrap();
    assert!(StoredDump::open(dir.path()).unwrap_err().to_string().contains("no npy file"));
}

#[test]
fn an_inspection_shows_every_tensor_and_the_spread_of_a_single_one() {
    let dir = tempfile::tempdir().unwrap();
    let root = dump(dir.path().join("dump"));
    let inspection = Inspection::of(&root).unwrap();
    let text = inspection.text();
    assert!(text.contains("3 tensors") && text.contains("complete") && text.contains("value 2"), "{text}");
    assert_eq!(inspection.json()["tensors"].as_array().unwrap().len(), 3);
    let single = Inspection::of(&root.join("run-0000/00001-b.output0.npy")).unwrap().text();
    assert!(single.contains("first elements: 2.0, 2.0"), "{single}");
    assert!(single.contains("2.000 to 4.000          6 ####"), "{single}");
}

#[test]
fn statistics_alone_are_shown_from_the_index() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let chain = Chain::new(&["a", "last"], &[4]);
    let about = About::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let sink = DirectorySink::create(&root, Contents::Statistics, &about).unwrap();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    dumper.finish().unwrap();
    let text = Inspection::of(&root).unwrap().text();
    assert!(text.contains("1.000  1.000  1.000"), "{text}");
}
