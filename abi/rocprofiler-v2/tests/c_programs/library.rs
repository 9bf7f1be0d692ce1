//! The library as a file, and its headers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use opscope_c_programs::{Language, Library, succeeds};

use super::program;

/// The symbols of the interface, each with its version node.
const SYMBOLS: &str = include_str!("../symbols.txt");

const FILE: &str = "librocprofiler64.so.2.0.0";

fn output_of(command: &str, options: &[&str]) -> String {
    opscope_c_programs::output_of(Command::new(command).args(options).arg(Library::RocprofilerV2.files().join(FILE)))
}

#[test]
fn the_library_exports_the_symbols_of_the_interface_under_their_nodes() {
    let own = [
        ("rocprofiler_query_tracer_operation_id", "ROCPROFILER_9.0"),
        ("opscope_attach_producer", "OPSCOPE_ROCPROFILER_1"),
    ];
    let interface = SYMBOLS.lines().map(|line| line.split_once(' ').expect("a name and a node"));
    let expected: BTreeSet<_> = interface.chain(own).map(|(name, node)| format!("{name}@@{node}")).collect();
    assert_eq!(expected.len(), 46);
    let listed = output_of("nm", &["-D", "--defined-only", "--with-symbol-versions"]);
    let lines = listed.lines().map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>());
    // The nodes themselves are absolute symbols.
    let exported: BTreeSet<_> = lines.filter(|words| words[0] != "A").map(|words| words[1].to_owned()).collect();
    assert_eq!(exported, expected);
    let priority = listed.lines().find(|line| line.contains("HSA_AMD_TOOL_PRIORITY")).expect("a line");
    assert!(priority.contains(" R "), "constant data: {priority}");
}

#[test]
fn the_library_has_its_names_and_cannot_be_unloaded_or_written_to() {
    let text = output_of("readelf", &["-dlW"]);
    for part in ["soname: [librocprofiler64.so.2]", "NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    for name in ["librocprofiler64.so.2", "librocprofiler64v2.so"] {
        assert_eq!(
            fs::read_link(Library::RocprofilerV2.files().join(name)).expect("a link"),
            Path::new(FILE),
            "{name}"
        );
    }
    // The link with that name belongs to the first version's library, which has another interface.
    assert!(!Library::RocprofilerV2.files().join("librocprofiler64.so").exists());
}

#[test]
fn every_size_offset_and_number_is_that_of_the_interface() {
    program("layout.c").run_silently();
}

#[test]
fn every_header_is_compiled_alone() {
    let headers = fs::read_dir(Library::RocprofilerV2.include().join("rocprofiler/v2")).expect("a directory");
    let headers: Vec<_> = headers.map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(headers.len(), 2, "{headers:?}");
    for header in headers {
        for language in Language::ALL {
            // The compiler would warn about the guard of a header that is the main file.
            let mut compiler = language.compiler();
            compiler.args([Library::RocprofilerV2, Library::Roctx].iter().flat_map(|library| library.header_options()));
            succeeds(compiler.args(["-D_GNU_SOURCE", "-fsyntax-only", "-include"]).arg(&header).arg("/dev/null"));
        }
    }
}

/// The options that link a tool with the library. A tool that is loaded must have it, even if it calls no function.
const LINKED: &str = "-Wl,--no-as-needed,-lrocprofiler64v2";

#[test]
fn tools_of_an_hsa_runtime_are_loaded_by_priority_when_a_producer_comes_and_unloaded_at_the_exit() {
    let program = program("hsa_tools.c")
        .beside("hsa_tools.c", "last.so", &["-DNAME=\"last\"", "-DPRIORITY=1025", "-DTRACES", LINKED])
        .beside("hsa_tools.c", "refuses.so", &["-DNAME=\"refuses\"", "-DPRIORITY=30", "-DREFUSES", LINKED])
        .beside("hsa_tools.c", "first.so", &["-DNAME=\"first\"", "-DPRIORITY=2", LINKED])
        .beside("hsa_tools.c", "other.so", &["-DNAME=\"other\"", "-DPRIORITY=1", "-DOTHER"]);
    let preloaded = "{directory}/last.so:{directory}/refuses.so:{directory}/first.so:{directory}/other.so";
    let printed = program.with("LD_PRELOAD", preloaded).run();
    let stdout = "\
main
first is loaded, after 0 that failed:
refuses is loaded, after 0 that failed:
last is loaded, after 1 that failed: {directory}/refuses.so
end of main
last has 3 records
last is unloaded
first is unloaded
";
    let stderr = "librocprofiler64 (opscope): the tool {directory}/refuses.so did not load\n";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), (stdout, stderr));
}

#[test]
fn tools_are_left_to_an_hsa_runtime_that_the_process_has() {
    let program = program("hsa_tools.c")
        .beside("hsa_tools.c", "tool.so", &["-DNAME=\"tool\"", "-DPRIORITY=1025", LINKED])
        .beside("hsa_runtime.c", "libhsa-runtime64.so.1", &["-Wl,-soname,libhsa-runtime64.so.1"]);
    let printed = program.with("LD_PRELOAD", "{directory}/tool.so:{directory}/libhsa-runtime64.so.1").run();
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("main\nend of main\n", ""));
}

#[test]
fn an_hsa_runtime_may_load_it_as_a_tool() {
    program("hsa_tool.c").run_silently();
}
