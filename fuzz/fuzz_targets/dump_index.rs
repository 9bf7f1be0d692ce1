//! Any bytes as the index of a dump: tensors whose files are in the dump's directory, or problems with a text.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use opscope_dump::{INDEX, StoredDump};

fuzz_target!(|bytes: &[u8]| {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    let root = ROOT.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("opscope-fuzz-{}", std::process::id())).join("dump");
        fs::create_dir_all(&root).expect("a directory can be made");
        for name in ["a.bin", "../outside.bin"] {
            fs::write(root.join(name), [0; 4]).expect("a file can be written");
        }
        root.canonicalize().expect("the directory is there")
    });
    fs::write(root.join(INDEX), bytes).expect("the index can be written");
    let dump = StoredDump::open(root).expect("a dump with an index opens");
    assert!(dump.problems.iter().all(|problem| !problem.is_empty()));
    for tensor in &dump.tensors {
        assert!(tensor.file().is_none_or(|file| file.starts_with(root)));
        let _ = tensor.read();
    }
});
