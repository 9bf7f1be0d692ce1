//! Reading dumps from untrusted sources.

mod chain;

use std::io::Read;
use std::path::{Path, PathBuf};

use chain::chain_of;
use opscope_dump::{Contents, DirectorySink, DumpInfo, Dumper, Inspection, Request, StoredDump};
use opscope_model::Fidelity;

fn dump(root: PathBuf) -> PathBuf {
    let chain = chain_of(&["a", "b", "last"], &[2, 3]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let sink = DirectorySink::create(&root, Contents::Tensors, &info).unwrap();
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
    assert!(StoredDump::open(&root).unwrap().problems[0].contains("the npy header asks for"));
    edit_index(&root, |text| *text = text.replace("float32", "float64"));
    assert_eq!(StoredDump::open(&root).unwrap().problems.len(), 3);
}

#[test]
fn a_directory_without_a_dump_is_said_to_have_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(StoredDump::open(dir.path()).unwrap_err().to_string().contains("no dump here"));
    assert!(StoredDump::open(&dir.path().join("nothing")).is_err());
    std::fs::write(dir.path().join("x.npy"), "not npy").unwrap();
    assert!(StoredDump::open(dir.path()).unwrap_err().to_string().contains("not an npy file"));
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
    let chain = chain_of(&["a", "last"], &[4]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let dumper = Dumper::new();
    let sink = DirectorySink::create(&root, Contents::Statistics, &info).unwrap();
    dumper.subscribe(Box::new(sink), Request::default()).unwrap();
    chain.run_with(&dumper, 0).unwrap();
    dumper.finish().unwrap();
    let text = Inspection::of(&root).unwrap().text();
    assert!(text.contains("1.000  1.000  1.000"), "{text}");
}

#[test]
fn an_index_without_line_ends_is_one_problem_and_is_not_read_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let root = dump(dir.path().join("dump"));
    // A sparse file of 200 GB.
    let index = std::fs::OpenOptions::new().write(true).open(root.join("index.jsonl")).unwrap();
    index.set_len(200 << 30).unwrap();
    let stored = StoredDump::open(&root).unwrap();
    assert_eq!(stored.tensors.len(), 3);
    assert_eq!(stored.problems.len(), 1, "{:?}", stored.problems);
    assert!(stored.problems[0].contains("line 4: it has more than 1048576 bytes; the rest is not read"));
    assert!(!stored.is_complete());
}

#[test]
fn an_index_whose_lines_cannot_be_used_is_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let root = dump(dir.path().join("dump"));
    edit_index(&root, |text| *text = "x\n".repeat(100_000));
    let problems = StoredDump::open(&root).unwrap().problems;
    assert!(problems.len() < 1010 && problems.iter().any(|problem| problem.contains("the rest is not read")));
}

/// Creates a sparse array file of 200 GB.
fn sparse(path: &Path, descr: &str, fortran_order: &str) {
    let shape = (5usize << 10, 10usize << 20);
    let dict =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': ({}, {}), }}\n", shape.0, shape.1);
    let header = [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes()].concat();
    let file = std::fs::File::create(path).unwrap();
    std::io::Write::write_all(&mut &file, &header).unwrap();
    file.set_len((header.len() + shape.0 * shape.1 * 4) as u64).unwrap();
}

#[test]
fn an_array_larger_than_the_memory_is_read_in_pieces_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    for (name, descr, order, readable) in
        [("little", "<f4", "False", true), ("big", ">f4", "False", true), ("columns", "<f4", "True", false)]
    {
        let path = dir.path().join(format!("{name}.npy"));
        sparse(&path, descr, order);
        let stored = StoredDump::open(&path).unwrap();
        assert_eq!(stored.tensors[0].bytes, 200 << 30);
        match stored.tensors[0].data() {
            Ok(mut data) => {
                let mut start = vec![1; 1 << 20];
                data.read_exact(&mut start).unwrap();
                assert!(readable && start.iter().all(|&byte| byte == 0), "{name}");
            }
            Err(error) => assert!(!readable && error.to_string().contains("save it row-major"), "{name}: {error}"),
        }
    }
    // A file that is shorter than its header says is always refused.
    let short = dir.path().join("short.npy");
    sparse(&short, "<f4", "False");
    std::fs::OpenOptions::new().write(true).open(&short).unwrap().set_len(4096).unwrap();
    let error = StoredDump::open(&short).unwrap_err().to_string();
    assert!(error.contains("asks for 214748364800 bytes of data"), "{error}");
}

#[test]
fn numbers_of_the_other_byte_order_are_turned_around() {
    let dir = tempfile::tempdir().unwrap();
    let numbers: Vec<f32> = (0..50_000u16).map(f32::from).collect();
    let dict = "{'descr': '>f4', 'fortran_order': False, 'shape': (50000,), }\n";
    let header = [b"\x93NUMPY\x01\x00", &(dict.len() as u16).to_le_bytes()[..], dict.as_bytes()].concat();
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let path = dir.path().join("big.npy");
    std::fs::write(&path, [header, data].concat()).unwrap();
    let read = StoredDump::open(&path).unwrap().tensors[0].read().unwrap();
    assert_eq!(read.bytes(), numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>());
}

fn make_pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe.npy");
    make_pipe(&pipe);
    for path in [&*pipe, Path::new("/dev/zero")] {
        let error = StoredDump::open(path).unwrap_err().to_string();
        assert!(error.contains("regular file"), "{error}");
    }
    for file in ["manifest.json", "run-0000/00001-b.output0.npy", "index.jsonl"] {
        let is_refused = |reason: &str| reason.contains(file) && reason.contains("it is not a regular file");
        let root = dump(dir.path().join(file.replace('/', "-")));
        std::fs::remove_file(root.join(file)).unwrap();
        make_pipe(&root.join(file));
        match StoredDump::open(&root) {
            Ok(stored) => assert!(!stored.is_complete() && is_refused(&stored.problems[0]), "{:?}", stored.problems),
            Err(error) => assert!(file == "index.jsonl" && is_refused(&error.to_string()), "{error}"),
        }
    }
    let ascend = dir.path().join("AddOne.a.1.0.5");
    make_pipe(&ascend);
    assert!(
        opscope_dump::ascend::AscendFile::open(&ascend).unwrap_err().to_string().contains("it is not a regular file")
    );
}
