//! The library as a file, and its names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use opscope_c_programs::Library;

const SYMBOLS: &str = include_str!("../symbols.txt");

const FILE: &str = "libcudadebugger.so.13.4.193";

fn output_of(command: &str, options: &[&str]) -> String {
    opscope_c_programs::output_of(Command::new(command).args(options).arg(Library::Cudbg.files().join(FILE)))
}

#[test]
fn the_library_exports_the_symbols_of_the_interface_and_no_others() {
    let listed = output_of("nm", &["-D", "--defined-only"]);
    let symbol = |line: &str| line.split_once(' ').expect("an address").1.to_owned();
    let exported: BTreeSet<String> = listed.lines().map(symbol).collect();
    let expected: BTreeSet<String> = SYMBOLS.lines().map(ToOwned::to_owned).collect();
    assert_eq!(exported, expected);
    // A debugger sets breakpoints on functions that do nothing, so each has its own address.
    let empty = listed.lines().filter(|line| line.contains("Report") && line.contains(" T ")).map(|line| &line[..16]);
    assert_eq!(empty.collect::<BTreeSet<_>>().len(), 3, "{listed}");
}

#[test]
fn variables_have_the_sizes_of_the_interface() {
    let listed = output_of("readelf", &["--dyn-syms", "-W"]);
    for (name, size) in [
        ("cudbgIpcFlag", "4"),
        ("cudbgDebuggerCapabilities", "4"),
        ("cudbgInitiateDebuggerAttachProcedureFd", "4"),
        ("cudbgReportedDriverApiErrorFuncNameAddr", "8"),
        ("cudbgInjectionPath", "4096"),
    ] {
        let line = listed.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("the variable");
        assert_eq!(line.split_whitespace().nth(2), Some(size), "{line}");
    }
}

#[test]
fn the_library_has_its_names_and_cannot_be_unloaded_or_written_to() {
    let text = output_of("readelf", &["-dlW"]);
    for part in ["soname: [libcudadebugger.so.1]", "NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert_eq!(fs::read_link(Library::Cudbg.files().join("libcudadebugger.so.1")).expect("a link"), Path::new(FILE));
}

#[test]
fn a_libcuda_in_a_directory_of_its_own_has_what_debuggers_look_for_in_a_program() {
    let file = Library::Cudbg.files().join("opscope/cudbg/libcuda.so.1");
    let listed = opscope_c_programs::output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(&file));
    let names: BTreeSet<&str> = listed.lines().map(|line| line.split(' ').next_back().expect("a name")).collect();
    // These are all symbols that the library has for debuggees, and the functions that are called in a driver.
    let is_for_engines =
        |name: &&str| !name.starts_with("GetCUDA") && !["InitializeInjection", "cudbgMain"].contains(name);
    let of_library = SYMBOLS.lines().filter_map(|line| line.split(' ').next_back()).filter(is_for_engines);
    assert_eq!(names, of_library.chain(["cuInit", "cuMemAllocManaged"]).collect());
    let text = opscope_c_programs::output_of(Command::new("readelf").arg("-dW").arg(&file));
    for part in ["soname: [libcuda.so.1]", "[$ORIGIN/../..]"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    // It is loaded into programs. The library is loaded only if a program asks for it.
    assert!(!text.contains("libcudadebugger"), "{text}");
}
