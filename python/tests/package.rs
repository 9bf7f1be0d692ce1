//! The extension as cargo makes it. What is in it is tested in an interpreter, by the files of pytest beside this one.

use std::fs;

/// Returns whether `bytes` contain `text`.
fn contain(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn the_extension_begins_where_python_looks_and_needs_no_library_of_python() {
    let program = std::env::current_exe().expect("the test knows its file");
    let extension = program.parent().expect("it lies in a directory").join("lib_opscope.so");
    let bytes = fs::read(&extension).unwrap_or_else(|error| panic!("{}: {error}", extension.display()));
    assert!(contain(&bytes, "PyInit__opscope"));
    assert!(!contain(&bytes, "libpython"), "it runs in any interpreter from 3.10 on");
}
