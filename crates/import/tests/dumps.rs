//! Dumps of other tools, whole, damaged and hostile.

mod pickles;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opscope_dump::StoredDump;
use opscope_import::{DumpOptions, ImportError, ImportedDump, import_dump, is_foreign_dump};
use pickles::{Tensor, archive, pickle_of};
use proptest::prelude::*;

fn import(source: &Path) -> Result<(ImportedDump, tempfile::TempDir), ImportError> {
    let directory = tempfile::tempdir().unwrap();
    let imported = import_dump(source, &directory.path().join("dump"), &DumpOptions::default())?;
    Ok((imported, directory))
}

/// Imports a file of these bytes.
fn import_bytes(name: &str, bytes: &[u8]) -> Result<(ImportedDump, tempfile::TempDir), ImportError> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(name);
    fs::write(&source, bytes).unwrap();
    import(&source)
}

fn numbers(dump: &Path, value: &str) -> Vec<f32> {
    let stored = StoredDump::open(dump).unwrap();
    let tensor = stored.tensors.iter().find(|tensor| tensor.place.value.as_deref() == Some(value)).unwrap();
    tensor.read().unwrap().bytes().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn safetensors(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

const STATISTICS: &str = r#"{"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": null, "data": {
"Module.fc.Linear.forward.0": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 3],
"Max": 1.8042484521865845, "Min": -Infinity, "Mean": NaN, "Norm": Infinity, "requires_grad": false}], "input_kwargs": {},
"output": [{"type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [2], "Max": 2.0, "Min": 1.0, "Mean": 1.5, "Norm": 2.2}]},
"Functional.linear.0.forward": {"input_args": [], "output": [null, [{"type": "torch.Tensor", "dtype": "torch.bool", "shape": [1],
"Max": true, "Min": true, "Mean": null, "Norm": null}]]}}}"#;

#[test]
fn strides_offsets_and_shared_storages_are_resolved() {
    let data = floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let tensors = [
        Tensor { name: "plain", offset: 0, shape: &[2, 3], strides: &[3, 1] },
        Tensor { name: "transposed", offset: 0, shape: &[3, 2], strides: &[1, 3] },
        Tensor { name: "tail", offset: 4, shape: &[2], strides: &[1] },
        Tensor { name: "expanded", offset: 1, shape: &[3], strides: &[0] },
    ];
    let (imported, directory) = import_bytes("x.pt", &archive(&pickle_of(&tensors, 6), &data)).unwrap();
    assert_eq!((imported.format, imported.tensors, imported.complete), ("pt", 4, true), "{imported:?}");
    let dump = directory.path().join("dump");
    assert_eq!(numbers(&dump, "plain"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(numbers(&dump, "transposed"), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(numbers(&dump, "tail"), [4.0, 5.0]);
    assert_eq!(numbers(&dump, "expanded"), [1.0; 3]);
    assert!(StoredDump::open(&dump).unwrap().is_complete());
}

#[test]
fn elements_out_of_order_may_be_more_than_are_copied_at_once() {
    // 6 MiB of numbers, each its place in the file; a column-major view has them in the other order.
    let (rows, columns) = (1024, 1536);
    let data: Vec<f32> = (0..rows * columns).map(|place| place as f32).collect();
    let view = Tensor { name: "view", offset: 0, shape: &[columns, rows], strides: &[1, columns] };
    let file = archive(&pickle_of(&[view], 1024 * 1536), &floats(&data));
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("x.pt");
    fs::write(&source, file).unwrap();
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let progress: Option<opscope_import::DumpProgress> = Some(Arc::new(move |bytes| tell.lock().unwrap().push(bytes)));
    let dump = directory.path().join("dump");
    import_dump(&source, &dump, &DumpOptions { progress, ..DumpOptions::default() }).unwrap();
    let expected: Vec<f32> =
        (0..columns).flat_map(|column| (0..rows).map(move |row| (row * columns + column) as f32)).collect();
    assert!(numbers(&dump, "view") == expected, "the elements of the view are others");
    assert_eq!(*told.lock().unwrap(), [6 << 20]);
}

#[test]
fn what_a_dump_is_is_found_by_its_content_and_the_names_of_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let is_dump = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        is_foreign_dump(&path)
    };
    // A header of 2 bytes may end where the file does, and no later.
    assert!(is_dump("whole", b"\x02\0\0\0\0\0\0\0{}"));
    assert!(!is_dump("short", b"\x03\0\0\0\0\0\0\0{}"));
    assert!(!is_dump("other", b"\x02\0\0\0\0\0\0\0[]"));
    assert!(is_dump("a", STATISTICS.as_bytes()));
    for key in ["\"task\"", "\"level\"", "\"data\""] {
        assert!(!is_dump("b", STATISTICS.replace(key, "\"x\"").as_bytes()), "{key}");
    }
    let format = |name: &str| {
        let place = directory.path().join(name.split('/').next().unwrap());
        let file = archive(&pickle_of(&[Tensor { name: "", offset: 0, shape: &[1], strides: &[1] }], 1), &[0; 4]);
        is_dump(name, &file);
        import(&place).unwrap().0.format
    };
    assert_eq!(format("llm/1.Model-2.Layer-input.x.pt"), "tensorrt-llm");
    assert_eq!(format("lang/step=0___rank=0___dump_index=1___name=x.pt"), "sglang");
    assert_eq!(format("plain/x.pt"), "files");
}

/// Two numbers of float16, each 1, as an `.npy` file in base64.
fn npy() -> String {
    let header = format!("{:117}\n", "{'descr': '<f2', 'fortran_order': False, 'shape': (2,), }");
    let file = [b"\x93NUMPY\x01\0\x76\0", header.as_bytes(), &[0, 0x3C, 0, 0x3C]].concat();
    STANDARD.encode(file)
}

#[test]
fn results_of_polygraphy_are_the_outputs_of_each_runner_and_iteration() {
    let values = format!(r#"{{"outputs": {{"y": {{"values": {{"array": "{}"}}}}}}, "runtime": 0.1}}"#, npy());
    let results = format!(r#"{{"lst": [["ort", [{values}, {values}]], ["trt", [{values}]]]}}"#);
    let inputs = format!(r#"[{{"x": {{"array": "{0}"}}}}, {{"x": {{"array": "{0}"}}}}]"#, npy());
    for (text, expected) in [(results, &["0 trt/y", "0 y", "1 y"][..]), (inputs, &["0 x", "1 x"])] {
        let (imported, directory) = import_bytes("x.json", text.as_bytes()).unwrap();
        assert_eq!((imported.format, imported.complete), ("polygraphy", true), "{imported:?}");
        let stored = StoredDump::open(&directory.path().join("dump")).unwrap();
        let mut found: Vec<String> = stored
            .tensors
            .iter()
            .map(|tensor| {
                assert_eq!(tensor.read().unwrap().bytes(), [0, 0x3C, 0, 0x3C]);
                format!("{} {}", tensor.place.run.unwrap(), tensor.place.value.as_deref().unwrap())
            })
            .collect();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_pickle_that_would_call_something_is_refused_by_its_name() {
    let file = archive(b"\x80\x02cos\nsystem\nX\x02\0\0\0id\x85R.", &[]);
    let error = import_bytes("x.pt", &file).unwrap_err().to_string();
    assert!(error.contains("'os.system'") && error.contains("nothing else is executed"), "{error}");
    let old = import_bytes("x.pt", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.").unwrap_err().to_string();
    assert!(old.contains("before 1.6"), "{old}");
}

#[test]
fn elements_that_a_file_does_not_have_are_missing_and_the_rest_is_there() {
    let tensors = [
        Tensor { name: "good", offset: 0, shape: &[2], strides: &[1] },
        Tensor { name: "beyond", offset: 1, shape: &[2], strides: &[1] },
        Tensor { name: "huge", offset: 0, shape: &[1 << 40], strides: &[0] },
    ];
    let file = archive(&pickle_of(&tensors, 2), &floats(&[1.0, 2.0]));
    let (imported, directory) = import_bytes("x.pt", &file).unwrap();
    assert_eq!((imported.tensors, imported.complete, imported.missing.len()), (1, false, 2), "{imported:?}");
    assert!(imported.missing[0].starts_with("beyond: its elements reach beyond"), "{imported:?}");
    assert_eq!(numbers(&directory.path().join("dump"), "good"), [1.0, 2.0]);
    let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},
        "c":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1]},"__metadata__":{"format":"pt"}}"#;
    let (imported, directory) = import_bytes("x.safetensors", &safetensors(header, &floats(&[7.0]))).unwrap();
    assert_eq!((imported.format, imported.tensors, imported.missing.len()), ("safetensors", 1, 2), "{imported:?}");
    assert_eq!(numbers(&directory.path().join("dump"), "a"), [7.0]);
}

#[test]
fn arrays_of_another_order_of_bytes_or_elements_are_those_of_numpy() {
    for (descr, order, data) in [
        ("'>f4'", "False", [1.0f32, 2.0, 3.0, 4.0].map(f32::to_be_bytes)),
        ("'<f4'", "True", [1.0f32, 3.0, 2.0, 4.0].map(f32::to_le_bytes)),
    ] {
        let header = format!("{:117}\n", format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': (2, 2), }}"));
        let file = [b"\x93NUMPY\x01\0\x76\0", header.as_bytes(), data.as_flattened()].concat();
        let (imported, directory) = import_bytes("x.npy", &file).unwrap();
        assert_eq!((imported.tensors, imported.bytes, imported.complete), (1, 16, true), "{imported:?}");
        let stored = StoredDump::open(&directory.path().join("dump")).unwrap();
        let bytes = stored.tensors[0].read().unwrap().bytes().to_vec();
        assert_eq!(bytes, floats(&[1.0, 2.0, 3.0, 4.0]), "{descr} {order}");
    }
}

#[test]
fn a_file_that_cannot_be_read_makes_the_dump_incomplete() {
    let directory = tempfile::tempdir().unwrap();
    let tensor = Tensor { name: "", offset: 0, shape: &[1], strides: &[1] };
    let source = directory.path().join("lang");
    fs::create_dir(&source).unwrap();
    let good = archive(&pickle_of(&[tensor], 1), &floats(&[7.0]));
    fs::write(source.join("step=0___rank=0___dump_index=1___name=x.pt"), good).unwrap();
    fs::write(source.join("step=0___rank=0___dump_index=2___name=y.pt"), "no archive").unwrap();
    let (imported, kept) = import(&source).unwrap();
    assert_eq!((imported.format, imported.tensors, imported.complete), ("sglang", 1, false), "{imported:?}");
    assert_eq!(imported.missing.len(), 1, "{imported:?}");
    assert!(imported.missing[0].contains("name=y"), "{imported:?}");
    assert!(!StoredDump::open(&kept.path().join("dump")).unwrap().is_complete());
}

#[test]
fn statistics_of_msprobe_are_statistics_of_ours() {
    let (imported, directory) = import_bytes("dump.json", STATISTICS.as_bytes()).unwrap();
    assert_eq!((imported.format, imported.statistics_only, imported.complete), ("msprobe", 3, true), "{imported:?}");
    assert_eq!((imported.tensors, imported.bytes), (3, 0), "{imported:?}");
    let stored = StoredDump::open(&directory.path().join("dump")).unwrap();
    let noted = |value: &str| {
        let tensor = stored.tensors.iter().find(|tensor| tensor.place.value.as_deref() == Some(value)).unwrap();
        tensor.noted.clone().unwrap()
    };
    let input = noted("fc:input0");
    assert_eq!((input.max, input.min, input.mean, input.inf), (Some(1.8042484521865845), None, None, 1));
    assert_eq!((noted("fc").max, noted("fc").mean), (Some(2.0), Some(1.5)));
    assert_eq!(noted("Functional.linear.0").max, Some(1.0));
    let place = &stored.tensors[0].place;
    assert_eq!((place.op_type.as_deref(), place.phase.as_deref()), (Some("Linear"), Some("forward")));
}

#[test]
fn names_in_files_are_no_paths() {
    let directory = tempfile::tempdir().unwrap();
    let outside = directory.path().join("secret.pt");
    let tensors = [Tensor { name: "x", offset: 0, shape: &[1], strides: &[1] }];
    fs::write(&outside, archive(&pickle_of(&tensors, 1), &floats(&[1.0]))).unwrap();
    let source = directory.path().join("dump");
    fs::create_dir_all(source.join("dump_tensor_data")).unwrap();
    std::os::unix::fs::symlink(&outside, source.join("dump_tensor_data/link.pt")).unwrap();
    for name in ["../../secret.pt", outside.to_str().unwrap(), "link.pt", "..", ""] {
        let json = format!(
            r#"{{"task": "tensor", "level": "L1", "data": {{"Tensor.x.0.forward": {{"output": [{{"type": "torch.Tensor",
            "dtype": "torch.float32", "shape": [1], "Max": 1.0, "data_name": "{name}"}}]}}}}}}"#
        );
        fs::write(source.join("dump.json"), json).unwrap();
        let (imported, _kept) = import(&source).unwrap();
        assert_eq!((imported.tensors, imported.missing.len()), (0, 1), "{name}: {imported:?}");
    }
    let header = r#"{"../../evil\u001b[2J":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
        "gone\u001b[2J":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#;
    let (imported, kept) = import_bytes("x.safetensors", &safetensors(header, &floats(&[7.0]))).unwrap();
    assert_eq!(imported.tensors, 1);
    assert!(!imported.missing[0].contains('\u{1b}'), "{imported:?}");
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 1);
    assert!(StoredDump::open(&kept.path().join("dump")).unwrap().problems.is_empty());
}

#[test]
fn ranks_become_dumps_of_their_own() {
    let source = tempfile::tempdir().unwrap();
    for (step, rank) in [(0, 0), (0, 1), (3, 0), (3, 1)] {
        let directory = source.path().join(format!("step{step}/rank{rank}"));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("dump.json"), STATISTICS).unwrap();
    }
    assert!(is_foreign_dump(source.path()));
    let (imported, kept) = import(source.path()).unwrap();
    assert_eq!((imported.directories.len(), imported.tensors), (2, 12), "{imported:?}");
    let root = kept.path().join("dump");
    assert_eq!(StoredDump::ranks(&root).iter().map(|(rank, _)| *rank).collect::<Vec<_>>(), [0, 1]);
    assert!(!is_foreign_dump(&root) && !is_foreign_dump(&root.join("rank-0")));
    let stored = StoredDump::open(&root.join("rank-1")).unwrap();
    let runs: Vec<_> = stored.tensors.iter().map(|tensor| tensor.place.run.unwrap()).collect();
    assert_eq!(runs, [0, 0, 0, 3, 3, 3]);
}

#[test]
fn what_exists_is_not_overwritten_and_an_import_can_be_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("dump.json");
    fs::write(&source, STATISTICS).unwrap();
    let options = DumpOptions::default();
    assert!(import_dump(&source, directory.path(), &options).is_err());
    let cancelled = DumpOptions { cancel: Arc::new(AtomicBool::new(true)), ..DumpOptions::default() };
    let target: PathBuf = directory.path().join("new");
    assert!(matches!(import_dump(&source, &target, &cancelled), Err(ImportError::Cancelled)));
    assert!(!StoredDump::open(&target).unwrap().is_complete());
    fs::write(directory.path().join("notes.txt"), "none").unwrap();
    let error = import_dump(&directory.path().join("notes.txt"), &directory.path().join("x"), &options).unwrap_err();
    assert!(error.to_string().contains("known are msprobe, sglang"), "{error}");
}

/// A file of each format whose readers are our own.
fn valid(which: usize) -> Vec<u8> {
    let tensors = [
        Tensor { name: "a", offset: 0, shape: &[2, 2], strides: &[1, 2] },
        Tensor { name: "b", offset: 1, shape: &[3], strides: &[1] },
    ];
    let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}}"#;
    let npy = npy();
    match which {
        0 => archive(&pickle_of(&tensors, 4), &floats(&[1.0, 2.0, 3.0, 4.0])),
        1 => safetensors(header, &[7; 8]),
        2 => STATISTICS.as_bytes().to_vec(),
        _ => format!(r#"[{{"x": {{"array": "{npy}", "polygraphy_class": "ndarray"}}}}]"#).into_bytes(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file is an error, or a dump that can be read and is no larger than the file allows.
    #[test]
    fn damage_is_an_error_or_named(
        which in 0usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = valid(which);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match import_bytes("x", &bytes) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok((imported, directory)) => {
                let stored = StoredDump::open(&directory.path().join("dump")).unwrap();
                prop_assert!(stored.problems.is_empty(), "{:?}", stored.problems);
                prop_assert!(imported.complete || !imported.missing.is_empty());
                prop_assert!(imported.bytes <= 1 << 20, "{}", imported.bytes);
            }
        }
    }

    /// Any bytes are an error or a dump.
    #[test]
    fn any_pickle_is_an_error_or_a_dump(pickle in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = import_bytes("x.pt", &archive(&pickle, &[0; 16]));
        let _ = import_bytes("x.pt", &pickle);
        let _ = import_bytes("x.safetensors", &safetensors(&String::from_utf8_lossy(&pickle), &[0; 16]));
    }
}
