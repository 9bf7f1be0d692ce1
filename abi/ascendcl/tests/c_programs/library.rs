//! The library as a file, its names, and its headers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opscope_c_programs::{Language, Library, Printed, Program, succeeds};

use super::program;

const FILE: &str = "libascendcl.so";

/// The source of the functions that are not here.
pub const UNSUPPORTED: &str = include_str!("../../src/unsupported.rs");

/// The vendor's other libraries, whose functions are in this one.
const LINKS: [&str; 5] = ["libacl_rt.so", "libacl_mdl.so", "libascend_dump.so", "libacl_dvpp.so", "libacl_cblas.so"];

fn libraries() -> &'static Path {
    Library::AscendCl.files()
}

fn output_of(command: &str, option: &str) -> String {
    opscope_c_programs::output_of(Command::new(command).arg(option).arg(libraries().join(FILE)))
}

#[test]
fn the_library_exports_the_functions_that_the_headers_declare() {
    let listed = output_of("nm", "-DgP");
    let lines = listed.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let exported: BTreeSet<&str> =
        lines.filter(|words| !["U", "w", "v"].contains(&words[1])).map(|words| words[0]).collect();
    let texts: Vec<String> = headers().iter().map(|header| fs::read_to_string(header).expect("UTF-8")).collect();
    let declared: BTreeSet<&str> = texts.iter().flat_map(|text| declared_in(text)).collect();
    assert!(declared.len() > 200, "{declared:?}");

    let missing: Vec<_> = declared.difference(&exported).collect();
    assert!(missing.is_empty(), "declared, but not exported: {missing:?}");
    // Some functions that are not implemented have no documented parameters. Programs that call them were compiled
    // elsewhere.
    let words: BTreeSet<&str> = UNSUPPORTED.split_whitespace().collect();
    let unknown: Vec<_> = exported.difference(&declared).filter(|name| !words.contains(**name)).collect();
    assert!(unknown.is_empty(), "exported, but neither declared nor in src/unsupported.rs: {unknown:?}");
    let versions = output_of("readelf", "-VW");
    assert!(!versions.contains("Version definition section"), "{versions}");
}

/// Returns the names of the functions that a header declares.
fn declared_in(header: &str) -> impl Iterator<Item = &str> {
    let name = |text: &'_ str| -> Option<(usize, usize)> {
        let end = text.find('(')?;
        Some((text[..end].rfind([' ', '*', '\n']).map_or(0, |at| at + 1), end))
    };
    let declarations = header.split("ACL_FUNC_VISIBILITY").skip(1);
    let names = declarations.filter_map(move |text| name(text).map(|(start, end)| &text[start..end]));
    names.filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
}

#[test]
fn the_library_has_its_names_and_cannot_be_unloaded_or_written_to() {
    let text = output_of("readelf", "-dlW");
    for part in ["soname: [libascendcl.so]", "NODELETE", "BIND_NOW", "GNU_RELRO"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(fs::symlink_metadata(libraries().join(FILE)).expect("a file").is_file());
    for name in LINKS {
        assert_eq!(fs::read_link(libraries().join(name)).expect("a link"), Path::new(FILE), "{name}");
    }
}

#[test]
fn all_names_load_one_library_with_one_state() {
    let directory = libraries().to_str().expect("UTF-8");
    let passed = Printed { stdout: "passed\n".to_owned(), stderr: String::new() };
    assert_eq!(program("libraries.c").argument(directory).run(), passed);
}

#[test]
fn a_program_that_was_linked_with_the_vendors_libraries_gets_this_one_for_each() {
    // Each of the vendor's libraries is a separate file with its own soname.
    let program = LINKS.iter().fold(Program::of(Library::AscendCl, "linked.c"), |program, name| {
        program.linked_beside("/dev/null", name, &["-Wno-pedantic", &format!("-Wl,-soname,{name}")])
    });
    let program = program.options(&["-lascendcl"]);
    let needed = needed(&program.compile(Language::C11));
    for name in LINKS.into_iter().chain([FILE]) {
        assert!(needed.contains(&format!("Shared library: [{name}]")), "{name} is not needed:\n{needed}");
    }
    let printed = program.with("LD_LIBRARY_PATH", libraries().to_str().expect("UTF-8")).run();
    assert_eq!(printed.stdout, "passed\n");
}

/// Returns what a program needs.
fn needed(program: &Path) -> String {
    opscope_c_programs::output_of(Command::new("readelf").arg("-dW").arg(program))
}

#[test]
fn the_vendors_names_may_be_given_to_the_linker() {
    for names in [
        &["-lascendcl", "-lstdc++"][..],
        &["-lascendcl", "-lstdc++", "-lacl_rt"],
        &["-lacl_rt", "-lacl_mdl", "-lascend_dump"],
        &["-lascend_dump", "-lascendcl"],
        &["-lascendcl", "-lacl_dvpp", "-lacl_cblas", "-lstdc++"],
    ] {
        let program = Program::of(Library::AscendCl, "linked.c").option("-std=c++11").options(names);
        let needed = needed(&program.compile(Language::Cxx17));
        assert_eq!(needed.matches("Shared library: [liba").count(), 1, "{names:?}:\n{needed}");
    }
}

#[test]
fn every_size_offset_and_number_is_that_of_the_interface() {
    assert_eq!(program("layout.c").run(), Printed { stdout: String::new(), stderr: String::new() });
}

#[test]
fn every_header_is_compiled_alone_in_the_oldest_languages() {
    let headers = headers();
    assert!(headers.len() >= 13, "{headers:?}");
    for header in headers {
        for (language, standard) in [(Language::C11, "-std=c99"), (Language::Cxx17, "-std=c++11")] {
            // The compiler would warn about the guard of a header that is the main file.
            let mut compiler = language.compiler();
            compiler.arg(standard).arg("-fsyntax-only").arg("-I").arg(Library::AscendCl.include());
            succeeds(compiler.arg("-include").arg(&header).arg("/dev/null"));
        }
    }
}

/// Returns the headers.
fn headers() -> Vec<PathBuf> {
    let directories = ["include/acl", "include/acl/error_codes", "include/acl/ops"]
        .map(|directory| Library::AscendCl.root().join(directory));
    let entries = directories.iter().flat_map(|directory| fs::read_dir(directory).expect("a directory"));
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "h")).collect()
}
