//! AscendCL's dump files: written, read back, and damaged.

mod chain;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chain::chain_of;
use opscope_dump::ascend::{AscendFile, AscendSink, Chunks, DirectoryTarget, FileName};
use opscope_dump::{
    CompareOptions, Comparison, DumpError, DumpInfo, DumpKind, Dumper, Inspection, Io, IoSelection, Outcome, Request,
    Selection, StoredDump,
};
use opscope_model::Fidelity;
use opscope_model::testing::FakePlan;
use opscope_tensor::DType;
use proptest::prelude::*;

fn dump(chain: &FakePlan, root: &Path, io: IoSelection) {
    let dumper = Dumper::new();
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = AscendSink::new(DirectoryTarget::create(root, &info).unwrap(), 1 << 20);
    let selection = Selection { io, ..Selection::default() };
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    dumper.add_plan(chain, chain).unwrap();
    for run in 0..2 {
        chain.run_with(&dumper, run).unwrap();
    }
    let report = dumper.finish().unwrap();
    assert!(report.is_complete(), "{report:?}");
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

#[test]
fn inputs_and_outputs_of_an_operator_are_in_one_file_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("20260101000000");
    let chain = chain_of(&["first/op.a", "b", "last"], &[2, 3]);
    dump(&chain, &root, IoSelection::All);
    let stored = StoredDump::open(&root).unwrap();
    assert_eq!((stored.kind, stored.problems.len()), (DumpKind::AscendCl, 0));
    let of_a: Vec<_> = stored
        .tensors
        .iter()
        .filter(|tensor| tensor.place.operator.as_deref() == Some("first/op.a") && tensor.place.run == Some(1))
        .collect();
    let seen: Vec<_> = of_a
        .iter()
        .map(|tensor| (tensor.place.io.unwrap(), tensor.place.value.as_deref().unwrap(), tensor.read().unwrap()))
        .collect();
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].0, seen[0].1), (Io::Input, "x"));
    assert_eq!((seen[1].0, seen[1].1), (Io::Output, "value 1"));
    assert_eq!(seen[0].2.bytes(), [0u8; 24]);
    assert_eq!((seen[1].2.dtype(), seen[1].2.shape()), (DType::F32, &[2, 3][..]));
    assert_eq!(seen[1].2.bytes(), [1f32; 6].map(f32::to_le_bytes).concat());
    assert_eq!(of_a[0].file(), of_a[1].file());
    let name = of_a[0].file().unwrap().strip_prefix(&root).unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("0/chain/1/1/AddOne.first_op_a.1.0."), "{name}");
}

#[test]
fn a_name_longer_than_a_file_systems_is_mapped_and_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    let long = format!("../{}", "x".repeat(400));
    dump(&chain_of(&[&long, "last"], &[2]), &root, IoSelection::Outputs);
    let stored = StoredDump::open(&root).unwrap();
    let found = stored.tensors.iter().filter(|tensor| tensor.place.operator.as_deref() == Some(&long)).count();
    assert_eq!((found, stored.problems.len()), (2, 0));
    let table = std::fs::read_to_string(root.join("0/chain/1/0/mapping.csv")).unwrap();
    let (digits, name) = table.trim_end().split_once(',').unwrap();
    assert!(digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(FileName::parse(name).unwrap().op_type, "AddOne");
}

#[test]
fn constants_may_come_in_every_run_that_computes_something() {
    let collected: ReceivedChunks = Arc::default();
    let keep = Arc::clone(&collected);
    let target = Chunks(move |path: &Path, bytes: &[u8], last: bool| {
        keep.lock().unwrap().push((path.to_path_buf(), bytes.to_vec(), last));
        Ok(())
    });
    let dumper = Dumper::new();
    let selection = Selection { io: IoSelection::Outputs, ..Selection::default() };
    let request = Request { selection, constants_in_runs: true, inputs_in_flight: false, ..Request::default() };
    dumper.subscribe(Box::new(AscendSink::new(target, 1 << 20)), request).unwrap();
    let chain = chain_of(&["a", "b", "last"], &[2]);
    dumper.add_plan(&chain, &chain).unwrap();
    for run in 0..2 {
        chain.run_with(&dumper, run).unwrap();
    }
    // This run fails at once, and the next one after one operator.
    chain.fail_at(0).run_with(&dumper, 2).unwrap_err();
    let chain = chain_of(&["a", "b", "last"], &[2]).fail_at(1);
    dumper.add_plan(&chain, &chain).unwrap();
    chain.run_with(&dumper, 3).unwrap_err();
    dumper.finish().unwrap();

    let files = collected.lock().unwrap();
    let named = |path: &Path| {
        let run = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let name = FileName::parse(path.file_name().unwrap().to_str().unwrap()).unwrap();
        (run, name.op_name)
    };
    let mut found: Vec<_> = files.iter().map(|(path, ..)| named(path)).collect();
    found.sort();
    let expected =
        [("0", "a"), ("0", "b"), ("0", "last"), ("1", "a"), ("1", "b"), ("1", "last"), ("3", "a"), ("3", "last")];
    assert_eq!(found, expected.map(|(run, name)| (run.to_owned(), name.to_owned())));
}

/// The chunks that a target got: path, bytes, last.
type ReceivedChunks = Arc<Mutex<Vec<(PathBuf, Vec<u8>, bool)>>>;

#[test]
fn chunks_are_never_empty_come_in_order_and_end_once() {
    for (elements, chunk, io) in [
        (1, 1 << 20, IoSelection::Outputs),
        (50_000, 4096, IoSelection::Outputs),
        (50_000, 4096, IoSelection::All),
        (50, 37, IoSelection::Outputs),
        (50, 37, IoSelection::All),
        (0, 64, IoSelection::All),
    ] {
        let given: ReceivedChunks = Arc::default();
        let keep = Arc::clone(&given);
        let target = Chunks(move |path: &Path, bytes: &[u8], last: bool| {
            keep.lock().unwrap().push((path.to_path_buf(), bytes.to_vec(), last));
            Ok(())
        });
        let dumper = Dumper::new();
        let selection = Selection { io, ..Selection::default() };
        let sink = Box::new(AscendSink::new(target, chunk));
        dumper.subscribe(sink, Request { selection, ..Request::default() }).unwrap();
        chain_of(&["a", "b", "last"], &[elements]).run_with(&dumper, 0).unwrap();
        assert!(dumper.finish().unwrap().is_complete());

        let given = given.lock().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let mut names: Vec<_> = given.iter().map(|(path, ..)| path.clone()).collect();
        names.dedup();
        assert_eq!(names.len(), 2, "the chunks of one file come together");
        for (number, name) in names.iter().enumerate() {
            let chunks: Vec<_> = given.iter().filter(|(path, ..)| path == name).collect();
            assert!(chunks.iter().all(|(_, bytes, _)| !bytes.is_empty()));
            assert_eq!(chunks.iter().filter(|(.., last)| *last).count(), 1);
            assert!(chunks.last().unwrap().2);
            let path = dir.path().join(number.to_string());
            std::fs::write(&path, chunks.iter().map(|(_, bytes, _)| bytes.as_slice()).collect::<Vec<_>>().concat())
                .unwrap();
            let file = AscendFile::open(&path).unwrap();
            assert_eq!(file.tensors.len(), if io == IoSelection::All { 2 } else { 1 });
            assert!(file.tensors.iter().all(|tensor| tensor.shape == [elements]));
        }
    }
}

#[test]
fn what_an_operator_took_is_in_its_file_although_it_failed() {
    let dir = tempfile::tempdir().unwrap();
    let chain = chain_of(&["a", "b", "last"], &[2]).fail_at(1);
    let root = dir.path().join("20260101000000");
    let dumper = Dumper::new();
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = AscendSink::new(DirectoryTarget::create(&root, &info).unwrap(), 1 << 20);
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    let request = Request { selection, inputs_in_flight: false, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    dumper.add_plan(&chain, &chain).unwrap();
    for run in 0..2 {
        chain.run_with(&dumper, run).unwrap_err();
    }
    dumper.finish().unwrap();
    let stored = StoredDump::open(&root).unwrap();
    let of = |operator: &str| -> Vec<_> {
        let tensors = stored.tensors.iter().filter(|tensor| tensor.place.operator.as_deref() == Some(operator));
        tensors.map(|tensor| (tensor.place.run.unwrap(), tensor.place.io.unwrap())).collect()
    };
    let both = |run| [(run, Io::Input), (run, Io::Output)];
    assert_eq!(of("a"), [both(0), both(1)].concat());
    assert_eq!(of("b"), [(0, Io::Input), (1, Io::Input)]);
}

#[test]
fn the_file_of_an_operator_that_failed_comes_before_those_of_the_next_run() {
    let received: ReceivedChunks = Arc::default();
    let keep = Arc::clone(&received);
    let target = Chunks(move |path: &Path, bytes: &[u8], last: bool| {
        keep.lock().unwrap().push((path.to_path_buf(), bytes.to_vec(), last));
        Ok(())
    });
    let chain = chain_of(&["a", "b", "last"], &[2]).fail_at(1);
    let dumper = Dumper::new();
    let selection = Selection { io: IoSelection::All, ..Selection::default() };
    let request = Request { selection, inputs_in_flight: false, ..Request::default() };
    dumper.subscribe(Box::new(AscendSink::new(target, 1 << 20)), request).unwrap();
    for run in 0..2 {
        chain.run_with(&dumper, run).unwrap_err();
    }
    dumper.finish().unwrap();
    let received = received.lock().unwrap();
    let named = |(path, ..): &(PathBuf, Vec<u8>, bool)| {
        let run = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        (run, FileName::parse(path.file_name().unwrap().to_str().unwrap()).unwrap().op_name)
    };
    let expected = [("0", "a"), ("0", "b"), ("1", "a"), ("1", "b")];
    let expected = expected.map(|(run, name)| (run.to_owned(), name.to_owned()));
    assert_eq!(received.iter().map(named).collect::<Vec<_>>(), expected);
}

#[test]
fn a_target_that_fails_stops_the_dump_with_its_reason() {
    let dumper = Dumper::new();
    let target = Chunks(|_: &Path, _: &[u8], _: bool| Err(DumpError::Target("the tape is full".into())));
    dumper.subscribe(Box::new(AscendSink::new(target, 4096)), Request::default()).unwrap();
    chain_of(&["a", "b", "last"], &[4]).run_with(&dumper, 0).unwrap();
    let report = dumper.finish().unwrap();
    assert_eq!(report.subscriptions[0].losses.count(), 2);
    assert!(report.subscriptions[0].errors[0].contains("the tape is full"));
}

fn whole_file() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("dump");
    dump(&chain_of(&["a", "last"], &[5]), &root, IoSelection::All);
    std::fs::read(&files(&root.join("0"))[0]).unwrap()
}

#[test]
fn a_shape_that_no_machine_can_address_is_a_reason_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    // A `DumpData` with one output with type 1 and this shape, and four bytes of data.
    let dims: Vec<u8> = [[0x80; 8].as_slice(), &[0x80, 0x01]].concat().repeat(2);
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let output = [&[0x08, 1][..], &field(3, &field(1, &dims)), &[0x30, 4]].concat();
    let header = [field(3, &output), field(6, b"a")].concat();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &[0; 4]].concat();
    std::fs::write(dir.path().join("AddOne.a.1.0.5"), file).unwrap();
    let inspection = Inspection::of(dir.path()).unwrap();
    assert_eq!(inspection.dump.tensors[0].shape, [1 << 63, 1 << 63]);
    let error = inspection.tensors[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("too many elements"), "{error}");
    let comparison = Comparison::of(&inspection.dump, &inspection.dump, &CompareOptions::default());
    assert!(matches!(&comparison.rows[0].outcome, Outcome::Unreadable(reason) if reason.contains("too many elements")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn damage_is_an_error_or_a_file_whose_tensors_lie_inside(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut in any::<prop::sample::Index>(), cuts: bool,
    ) {
        let mut bytes = whole_file();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("AddOne.a.1.0.5");
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(file) = AscendFile::open(&path) {
            for tensor in &file.tensors {
                prop_assert!(tensor.offset + tensor.bytes <= bytes.len() as u64);
            }
        }
        if let Ok(stored) = StoredDump::open(dir.path()) {
            for tensor in &stored.tensors {
                let _ = tensor.read();
            }
        }
    }
}
