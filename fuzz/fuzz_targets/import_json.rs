//! Any bytes as the JSON of msprobe or polygraphy: what is whole of it, or an error with a text.
#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use opscope_dump::StoredDump;
use opscope_import::{DumpOptions, import_dump};

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, target) = (directory.path().join("source"), directory.path().join("dump"));
    fs::write(&source, bytes).expect("the file is written");
    match import_dump(&source, &target, &DumpOptions::default()) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(imported) => {
            assert!(imported.complete || !imported.missing.is_empty());
            assert!(StoredDump::open(&target).expect("a dump").problems.is_empty());
        }
    }
});
