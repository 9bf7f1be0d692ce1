//! Dumps that are closed in place of the process that wrote them.

mod chain;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use chain::chain_of;
use opscope_dump::{Delivery, DumpFormat, DumpInfo, Dumper, MANIFEST, Request, StoredDump, close_abandoned};
use opscope_model::Fidelity;

/// Dumps two runs without finishing the dumper, as in a process that dies.
fn abandoned(root: &Path, format: &DumpFormat) {
    let chain = chain_of(&["a", "b", "last"], &[2, 3]);
    let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
    let sink = format.create(root, &info, format.has_histograms).unwrap();
    let dumper = Dumper::new();
    dumper.subscribe(sink, Request { delivery: Some(Delivery::Direct), ..Request::default() }).unwrap();
    dumper.add_plan(&chain, &chain).unwrap();
    for run in 0..2 {
        chain.run_with(&dumper, run).unwrap();
    }
    std::mem::forget(dumper);
}

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Returns the path of every file, relative to the dump.
fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_whole_is_counted_and_what_is_cut_is_removed_in_every_format() {
    for format in DumpFormat::ALL {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("dump");
        abandoned(&root, format);
        let whole: Vec<_> = files(&root).into_iter().filter(|file| !file.starts_with('.')).collect();
        let tensors = StoredDump::open(&root).unwrap().tensors.len();

        // This is what a process leaves that dies in the middle of a write.
        for name in ["index.jsonl", "histograms.jsonl", "statistics.csv"] {
            if root.join(name).exists() {
                append(&root.join(name), b"{\"run\":1,\"operator\":\"b");
            }
        }
        if let Some(file) = whole.iter().find(|file| file.contains("run-0001/") || file.contains("/1/")) {
            let file = root.join(file);
            let bytes = fs::read(&file).unwrap();
            // Another name of the same form, because AscendCL's names end with a time.
            let longer = format!("{}9", file.extension().unwrap().to_str().unwrap());
            fs::write(file.with_extension(longer), &bytes[..bytes.len() / 2]).unwrap();
        }
        fs::write(root.join("manifest.json.x.part"), "{").unwrap();

        let closed = close_abandoned(&root, "it crashed").unwrap();
        assert_eq!(closed.tensors, tensors as u64, "{}", format.name);
        let last = closed.last.unwrap().to_string();
        assert!(last.contains("output 0 of operator 'b', run 1"), "{last}");
        assert_eq!(files(&root), whole, "{}", format.name);
        let stored = StoredDump::open(&root).unwrap();
        assert_eq!((stored.problems.as_slice(), stored.tensors.len()), (&[][..], tensors), "{}", format.name);
        let manifest = stored.manifest.unwrap();
        assert!(!manifest.complete && manifest.runs.is_empty());
        assert_eq!(manifest.errors, ["it crashed".to_owned(), format!("the last tensor that is whole is {last}")]);
        assert_eq!(manifest.tensors, tensors as u64);
        assert_eq!(manifest.bytes, stored.tensors.iter().map(|tensor| tensor.bytes).sum::<u64>());

        // Closing it again changes nothing.
        let manifest = fs::read(root.join(MANIFEST)).unwrap();
        close_abandoned(&root, "another reason").unwrap();
        assert_eq!(fs::read(root.join(MANIFEST)).unwrap(), manifest);
    }
}

#[test]
fn a_dump_of_which_nothing_was_written_is_closed_and_a_directory_that_is_none_is_refused() {
    let place = tempfile::tempdir().unwrap();
    for format in DumpFormat::ALL {
        let root = place.path().join(format.name);
        let chain = chain_of(&["a", "last"], &[1]);
        let info = DumpInfo::new(&chain.graph, Fidelity::Exact, "fake", "1.0");
        std::mem::forget(format.create(&root, &info, false).unwrap());
        let closed = close_abandoned(&root, "it crashed").unwrap();
        assert_eq!((closed.tensors, closed.last), (0, None));
        let manifest: serde_json::Value = serde_json::from_slice(&fs::read(root.join(MANIFEST)).unwrap()).unwrap();
        assert_eq!((&manifest["complete"], &manifest["errors"]), (&false.into(), &serde_json::json!(["it crashed"])));
    }
    let error = close_abandoned(place.path(), "it crashed").unwrap_err().to_string();
    assert!(error.contains(MANIFEST), "{error}");
}

#[test]
fn a_file_whose_name_says_that_it_is_partial_stays() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("dump");
    abandoned(&root, DumpFormat::ALL.iter().find(|format| format.name == "npy").unwrap());
    let directory =
        root.join(files(&root).iter().find(|file| file.ends_with(".npy")).unwrap()).parent().unwrap().to_owned();
    fs::write(directory.join("half.npy"), "half").unwrap();
    fs::write(directory.join("other.npy.partial"), "half").unwrap();
    close_abandoned(&root, "it crashed").unwrap();
    assert!(!directory.join("half.npy").exists() && directory.join("other.npy.partial").exists());
}
