//! The library as a file, and its headers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opscope_c_programs::{Language, Library, succeeds};

use super::program;

/// The functions of the interface.
const FUNCTIONS: &str = include_str!("../functions.txt");

const FILE: &str = "librocprofiler-sdk.so.1.0.0";

fn output_of(command: &str, option: &str) -> String {
    opscope_c_programs::output_of(Command::new(command).arg(option).arg(Library::RocprofilerSdk.files().join(FILE)))
}

#[test]
fn the_library_exports_the_functions_of_the_interface_without_versions() {
    let own = ["opscope_attach_producer", "opscope_rocprofiler_emit", "opscope_use_tool"];
    let expected: BTreeSet<_> = FUNCTIONS.lines().chain(own).collect();
    let listed = output_of("nm", "-DgP");
    let defined = listed.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|words| words[1] == "T");
    assert_eq!(defined.map(|words| words[0]).collect::<BTreeSet<_>>(), expected);
    let versions = output_of("readelf", "-VW");
    assert!(!versions.contains("Version definition section"), "{versions}");
}

#[test]
fn the_library_has_its_names_and_cannot_be_unloaded_or_written_to() {
    let text = output_of("readelf", "-dlW");
    for part in ["soname: [librocprofiler-sdk.so.1]", "NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    for name in ["librocprofiler-sdk.so.1", "librocprofiler-sdk.so"] {
        assert_eq!(
            fs::read_link(Library::RocprofilerSdk.files().join(name)).expect("a link"),
            Path::new(FILE),
            "{name}"
        );
    }
}

#[test]
fn every_size_offset_and_number_is_that_of_the_interface() {
    program("layout.c").run_silently();
}

#[test]
fn every_header_is_compiled_alone() {
    let include = Library::RocprofilerSdk.include();
    let headers = headers(&include);
    assert!(headers.len() > 40, "{headers:?}");
    for header in headers {
        let is_c = header.extension().is_some_and(|extension| extension == "h");
        for language in if is_c { Language::ALL.as_slice() } else { &[Language::Cxx17] } {
            // The compiler would warn about the guard of a header that is the main file.
            let mut compiler = language.compiler();
            compiler
                .args([Library::RocprofilerSdk, Library::Roctx].iter().flat_map(|library| library.header_options()));
            succeeds(compiler.args(["-D_GNU_SOURCE", "-fsyntax-only", "-include"]).arg(&header).arg("/dev/null"));
        }
    }
}

#[test]
fn every_function_is_declared_and_answers_zeros() {
    let headers = headers(&Library::RocprofilerSdk.include());
    let texts: Vec<_> = headers.iter().map(|header| fs::read_to_string(header).expect("UTF-8")).collect();
    // OpenMP's own header declares it.
    for function in FUNCTIONS.lines().filter(|function| *function != "ompt_start_tool") {
        assert!(texts.iter().any(|text| text.contains(&format!("{function}("))), "{function} is in no header");
    }
    program("every_function.c").arguments(FUNCTIONS.lines()).run_silently();
}

/// Returns the headers in a directory and below.
fn headers(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { headers(&path) } else { vec![path] }).collect()
}
