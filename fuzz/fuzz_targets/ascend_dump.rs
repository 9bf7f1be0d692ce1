//! Any bytes as one of AscendCL's dump files: tensors that lie inside of it, or an error with a text.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use opscope_dump::ascend::{AscendFile, FileName};

fuzz_target!(|bytes: &[u8]| {
    match AscendFile::from_bytes(Path::new("fuzzed"), bytes) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(file) => {
            let mut end = 0;
            for tensor in &file.tensors {
                assert!(tensor.offset >= end);
                end = tensor.offset + tensor.bytes;
                assert!(end <= bytes.len() as u64);
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(name) = FileName::parse(text)
    {
        assert!(name.on_disk().len() <= 255 && FileName::parse(&name.full()).is_some());
    }
});
