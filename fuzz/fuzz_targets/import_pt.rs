//! Any bytes as the pickle of a file of torch.save: tensors within its storage, or an error with a text. Nothing is executed.
#![no_main]

use std::fs;
use std::io::Write;

use libfuzzer_sys::fuzz_target;
use opscope_dump::StoredDump;
use opscope_import::{DumpOptions, import_dump};

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, target) = (directory.path().join("source"), directory.path().join("dump"));
    // The archive itself is the business of its reader, so the bytes are the pickle in it.
    let mut file = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut file);
    for (name, content) in [("x/data.pkl", bytes), ("x/data/0", &[7; 64])] {
        let (mut entry, config) = archive.new_file(name).start().expect("a file of the archive");
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).expect("memory takes it");
        let descriptor = writer.finish().expect("memory takes it").1;
        entry.finish(descriptor).expect("memory takes it");
    }
    archive.finish().expect("memory takes it");
    fs::write(&source, file).expect("the file is written");
    match import_dump(&source, &target, &DumpOptions::default()) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(imported) => {
            assert!(imported.complete || !imported.missing.is_empty());
            assert!(StoredDump::open(&target).expect("a dump").problems.is_empty());
        }
    }
});
