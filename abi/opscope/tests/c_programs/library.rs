//! The library as a file: what it exports, how it is linked, loaded and unloaded.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use opscope_c_programs::{Language, Library, Program, output_of};

use super::{program, run};

fn file() -> PathBuf {
    Library::Opscope.files().join("libopscope.so")
}

#[test]
fn the_library_exports_what_its_header_names_and_nothing_else() {
    let listed = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(file()));
    let symbols = listed.lines().filter_map(|line| line.split_whitespace().nth(2)).filter(|name| *name != "OPSCOPE_0");
    let exported: BTreeSet<&str> = symbols.map(|name| name.trim_end_matches("@@OPSCOPE_0")).collect();
    let header = fs::read_to_string(Library::Opscope.include().join("opscope.h")).expect("a header");
    assert_eq!(exported, functions(&header), "exported, and named in the header");
}

/// Returns the names of the functions that a header declares: those before a parenthesis outside of comments and types.
fn functions(header: &str) -> BTreeSet<&str> {
    let lines = header.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()));
    let declarations = lines.filter(|line| !line.starts_with("typedef") && line.contains('('));
    let name = |line: &'_ str| -> Option<(usize, usize)> {
        let end = line.find('(')?;
        Some((line[..end].rfind([' ', '*']).map_or(0, |start| start + 1), end))
    };
    declarations.filter_map(|line| name(line).map(|(start, end)| &line[start..end])).collect()
}

#[test]
fn the_library_has_its_soname_and_cannot_be_unloaded_or_written_to() {
    let text = output_of(Command::new("readelf").args(["-dlW"]).arg(file()));
    assert!(text.contains("soname: [libopscope.so.0]"), "{text}");
    for flag in ["NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(flag), "{flag} is missing:\n{text}");
    }
    let stack = text.lines().find(|line| line.contains("GNU_STACK")).expect("a line about the stack");
    assert!(!stack.contains("RWE"), "the stack is executable: {stack}");
}

#[test]
fn threads_forks_and_dlopen_find_a_working_library() {
    run("processes.c", &["digits_cnn.onnx", file().to_str().expect("UTF-8")]);
}

#[test]
fn the_library_is_loaded_and_closed_again_and_again() {
    let printed = run("unload.c", &[file().to_str().expect("UTF-8")]);
    assert_eq!(printed, "name is NULL\n".repeat(3));
}

#[test]
fn the_library_feeds_consumers_that_it_finds() {
    let place = tempfile::tempdir().expect("a directory");
    let consumer = place.path().join("librocprofiler-sdk.so.1");
    // In C, so that its functions have their names.
    Program::of(Library::Opscope, "consumer.c").compile_shared(Language::C11, &consumer);
    let fed = program("fed.c").with("OPSCOPE_LIB_DIR", place.path().to_str().expect("UTF-8"));
    let printed = fed.arguments(["digits_cnn.onnx", consumer.to_str().expect("UTF-8")]).run().stdout;
    assert_eq!(printed, "fed by libopscope: 3 runs, 45 dispatches, the first of /conv1/Conv\n");
}

#[test]
fn a_program_may_use_both_headers_and_be_fed_itself() {
    assert_eq!(run("both_headers.c", &["digits_cnn.onnx"]), "version 1\n");
}
