//! The libraries as files: what they export, how they are linked and loaded.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use opscope_c_programs::{Library, Program, output_of};

use super::{OLDER, SDK, program};

const FUNCTIONS: [&str; 12] = [
    "roctxMarkA",
    "roctxRangePushA",
    "roctxRangePop",
    "roctxRangeStartA",
    "roctxRangeStop",
    "roctxGetThreadId",
    "roctxProfilerPause",
    "roctxProfilerResume",
    "roctxNameOsThread",
    "roctxNameHsaAgent",
    "roctxNameHipDevice",
    "roctxNameHipStream",
];

/// What roctracer's library has under its node.
const OLDER_FUNCTIONS: [&str; 8] = [
    "roctxMarkA",
    "roctxRangePushA",
    "roctxRangePop",
    "roctxRangeStartA",
    "roctxRangeStop",
    "roctx_version_major",
    "roctx_version_minor",
    "roctxRegisterTracerCallback",
];

const IMPORT: &str = "rocprofiler_register_import_roctx";

/// Returns the names of what a library exports, with their nodes.
fn exported(file: &str) -> BTreeSet<String> {
    let listed = output_of(Command::new("nm").args(["-D", "--defined-only"]).arg(Library::Roctx.files().join(file)));
    listed.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

#[test]
fn the_library_exports_the_functions_without_versions() {
    let expected = FUNCTIONS.into_iter().chain([IMPORT]).map(str::to_owned).collect();
    assert_eq!(exported("librocprofiler-sdk-roctx.so.1"), expected);
    let library = Library::Roctx.files().join("librocprofiler-sdk-roctx.so.1");
    let text = output_of(Command::new("readelf").arg("-VW").arg(library));
    assert!(!text.contains("Version definition section"), "{text}");
}

#[test]
fn the_older_library_exports_its_functions_under_its_node_and_the_others_beside_it() {
    let more = FUNCTIONS.into_iter().filter(|name| !OLDER_FUNCTIONS.contains(name)).chain([IMPORT]);
    let versioned = OLDER_FUNCTIONS.map(|name| format!("{name}@@ROCTX_4.1")).into_iter();
    let versioned = versioned.chain(more.map(|name| format!("{name}@@OPSCOPE_ROCTX_1")));
    let nodes = ["ROCTX_4.1", "OPSCOPE_ROCTX_1"].map(str::to_owned);
    assert_eq!(exported("libroctx64.so.4"), versioned.chain(nodes).collect());
}

#[test]
fn the_libraries_have_their_names_and_cannot_be_unloaded_or_written_to() {
    for (real, soname, link) in [
        ("librocprofiler-sdk-roctx.so.1.0.0", "librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so"),
        ("libroctx64.so.4.1.0", "libroctx64.so.4", "libroctx64.so"),
    ] {
        let text = output_of(Command::new("readelf").args(["-dlW"]).arg(Library::Roctx.files().join(real)));
        assert!(text.contains(&format!("soname: [{soname}]")), "{text}");
        for flag in ["NODELETE", "BIND_NOW", "GNU_RELRO"] {
            assert!(text.contains(flag), "{flag} is missing:\n{text}");
        }
        for name in [soname, link] {
            let target = fs::read_link(Library::Roctx.files().join(name)).expect("a link");
            assert_eq!(target.to_str(), Some(real), "{name}");
        }
    }
}

#[test]
fn a_program_of_either_library_runs_with_the_other() {
    let (sdk, older) = ("librocprofiler-sdk-roctx.so.1", "libroctx64.so.4");
    for (linked, other, preload) in
        [(SDK, older, "{directory}/libroctx64.so.4"), (OLDER, sdk, "{directory}/librocprofiler-sdk-roctx.so.1")]
    {
        let program = program("origins.c", linked).option("-fPIC").copy_of(Library::Roctx.files().join(other));
        let printed = program.with("LD_PRELOAD", preload).run();
        assert_eq!((printed.stdout, printed.stderr), (format!("mark of {other}\npause of {other}\n"), String::new()));
    }
}

#[test]
fn each_library_has_a_state_of_its_own_that_stays() {
    let files = ["librocprofiler-sdk-roctx.so", "libroctx64.so"].map(|name| Library::Roctx.files().join(name));
    let paths = files.map(|file| file.display().to_string());
    // It loads the libraries itself.
    Program::of(Library::Roctx, "both.c").option("-rdynamic").arguments(paths).run();
}

#[test]
fn the_headers_are_compiled_on_their_own() {
    program("headers.c", SDK).run();
}
