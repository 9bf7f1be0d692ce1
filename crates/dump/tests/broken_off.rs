//! Real processes that are killed in the middle of a dump, or can no longer write.

mod chain;
mod disk;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use chain::chain_of;
use disk::{SmallDisk, with_disks};
use opscope_dump::{Contents, Delivery, DirectorySink, DumpInfo, Dumper, Flow, Request, StoredDump};
use opscope_model::Fidelity;

const ROOT: &str = "OPSCOPE_DUMP_TEST_ROOT";
const RUNS: &str = "OPSCOPE_DUMP_TEST_RUNS";
const PANICS: &str = "OPSCOPE_DUMP_TEST_PANICS";

/// The other process: dumps one run after another, and prints a line for each.
#[test]
fn child() {
    let (Some(root), Some(runs)) = (std::env::var_os(ROOT), std::env::var(RUNS).ok()) else { return };
    let chain = chain_of(&["a", "b", "c", "last"], &[100, 1000]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = DirectorySink::create(Path::new(&root), Contents::Tensors, &info).unwrap();
    let dumper = Dumper::new();
    // Less than a run is queued, so that the files on disk follow closely.
    let flow = Flow { cap: 1 << 20, ..Flow::default() };
    let delivery = Some(Delivery::Queued(flow));
    dumper.subscribe(Box::new(sink), Request { delivery, ..Request::default() }).unwrap();
    dumper.add_plan(&chain, &chain).unwrap();
    for run in 0..runs.parse().unwrap() {
        chain.run_with(&dumper, run).unwrap();
        println!("ran {run}");
        assert!(std::env::var_os(PANICS).is_none(), "made to panic");
    }
    dumper.finish().unwrap();
}

fn start(program: &mut Command, root: &Path, runs: u64) -> std::process::Child {
    let program = program.env(ROOT, root).env(RUNS, runs.to_string()).stdout(Stdio::piped()).stderr(Stdio::null());
    program.spawn().unwrap()
}

const CHILD: [&str; 3] = ["--exact", "child", "--nocapture"];

#[test]
fn a_process_that_is_killed_leaves_a_dump_that_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let mut child = start(Command::new(std::env::current_exe().unwrap()).args(CHILD), &root, u64::MAX);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ran 5"));
    child.kill().unwrap();
    child.wait().unwrap();

    let stored = StoredDump::open(&root).unwrap();
    let manifest = stored.manifest.as_ref().unwrap();
    assert!(!manifest.complete && manifest.errors[0].contains("not closed"));
    assert!(stored.tensors.len() > 12);
    // At most the last line is incomplete.
    assert!(stored.problems.len() <= 1, "{:?}", stored.problems);
    for tensor in stored.tensors.iter().step_by(5) {
        assert!(tensor.read().unwrap().bytes().len() as u64 == tensor.bytes);
    }
}

#[test]
fn a_process_that_panics_leaves_a_dump_that_says_that_it_was_not_closed() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let mut child = start(Command::new(std::env::current_exe().unwrap()).args(CHILD).env(PANICS, "1"), &root, 3);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(101), "{output}");
    let stored = StoredDump::open(&root).unwrap();
    assert!(!stored.is_complete());
    let manifest = stored.manifest.unwrap();
    assert!(!manifest.complete && manifest.errors[0].contains("not closed"), "{manifest:?}");
}

#[test]
fn a_full_disk_ends_the_writing_and_not_the_runs_and_the_dump_says_what_is_missing() {
    with_disks("a_full_disk_ends_the_writing_and_not_the_runs_and_the_dump_says_what_is_missing", || {
        let dir = tempfile::tempdir().unwrap();
        let disk = dir.path().join("disk");
        let _mounted = SmallDisk::mount(&disk, 1024);
        let root = disk.join("dump");
        // A tensor has 400 kB, and two fit.
        let chain = chain_of(&["a", "b", "c", "last"], &[100, 1000]);
        let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
        let sink = DirectorySink::create(&root, Contents::Tensors, &info).unwrap();
        let dumper = Dumper::new();
        dumper.subscribe(Box::new(sink), Request::default()).unwrap();
        dumper.add_plan(&chain, &chain).unwrap();
        (0..2).for_each(|run| chain.run_with(&dumper, run).map(drop).expect("the runs do not end with the disk"));
        assert!(!dumper.finish().unwrap().is_complete());
        let full = std::fs::write(disk.join("more"), vec![0; 400_000]).unwrap_err();
        assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);

        let stored = StoredDump::open(&root).unwrap();
        let manifest = stored.manifest.as_ref().expect("room was kept for it");
        assert!(!manifest.complete, "{manifest:?}");
        assert!(manifest.errors[0].contains("could not be written"), "{:?}", manifest.errors);
        assert!(manifest.errors[0].contains("No space left on device"), "{:?}", manifest.errors);
        assert_eq!(
            (manifest.tensors, manifest.missing_count),
            (3, 4),
            "the constant, a and b; c and all of run 1 are missing"
        );
        assert!(manifest.missing.iter().all(|missing| missing.reason.contains("could not be written")), "{manifest:?}");
        let whole: Vec<_> = stored.tensors.iter().filter_map(|tensor| tensor.read().ok()).collect();
        assert_eq!(whole.iter().map(|tensor| tensor.bytes().len()).collect::<Vec<_>>(), [8, 400_000, 400_000]);
        assert_eq!(whole[2].bytes(), [2_f32.to_le_bytes(); 100_000].as_flattened());
        assert!(root.join("run-0000/00002-c.output0.npy.partial").exists());
    });
}

#[test]
fn a_process_whose_files_may_not_grow_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    // A tensor has 400 kB. The system refuses files above 200 kB.
    let mut shell = Command::new("sh");
    let program = std::env::current_exe().unwrap();
    shell.args(["-c", "trap '' XFSZ; ulimit -f 400; exec \"$@\"", "sh"]).arg(program).args(CHILD);
    let mut child = start(&mut shell, &root, 2);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success(), "{output}");
    assert!(output.contains("ran 1"), "the runs go on");

    let stored = StoredDump::open(&root).unwrap();
    let manifest = stored.manifest.as_ref().unwrap();
    assert!(!manifest.complete && manifest.errors[0].contains("could not be written"), "{manifest:?}");
    assert_eq!((manifest.tensors, manifest.missing_count), (1, 6));
    let partial = stored.tensors.iter().filter(|tensor| tensor.read().is_err()).count();
    assert_eq!((stored.tensors.len(), partial), (2, 1), "the constant is whole, one tensor is partial");
    assert!(root.join("run-0000/00000-a.output0.npy.partial").exists());
}
