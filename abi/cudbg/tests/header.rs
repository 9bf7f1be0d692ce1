//! The header is what a debugger is compiled against: C and C++ take it without a warning, with the layouts that the interface has,
//! and it names results.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn the_header_has_the_layouts_of_the_interface_in_every_language() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (language, standard) in
        [("c", "c99"), ("c", "c11"), ("c", "c17"), ("c++", "c++11"), ("c++", "c++17"), ("c++", "c++20")]
    {
        let output = Command::new("cc")
            .args([
                "-x",
                language,
                &format!("-std={standard}"),
                "-Wall",
                "-Wextra",
                "-pedantic",
                "-Werror",
                "-fsyntax-only",
            ])
            .arg("-I")
            .arg(here.join("include"))
            .arg(here.join("tests/c/layouts.c"))
            .output()
            .expect("a C compiler");
        assert!(output.status.success(), "{standard}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn results_have_their_names_and_other_numbers_have_none() {
    let directory = tempfile::tempdir().expect("a directory");
    let (source, program) = (directory.path().join("names.c"), directory.path().join("names"));
    let text = "#include <stdio.h>\n#include <cudadebugger.h>\nint main(void) { for (int number = 0; number < 50; ++number) \
                puts(cudbgGetErrorString((CUDBGResult)number)); puts(cudbgGetErrorString((CUDBGResult)-1)); return 0; }\n";
    fs::write(&source, text).expect("a file");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let compiled = Command::new("cc").arg("-I").arg(include).arg(source).arg("-o").arg(&program).status();
    assert!(compiled.expect("a C compiler").success());
    let output = Command::new(program).output().expect("it runs");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let names: Vec<_> = printed.lines().collect();
    assert_eq!(
        (names[0], names[0x16], names[0x2c]),
        ("CUDBG_SUCCESS", "CUDBG_ERROR_NO_EVENT_AVAILABLE", "CUDBG_ERROR_RECURSIVE_API_CALL")
    );
    assert_eq!((names[0x2f], &names[0x30..]), ("CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT", &["*UNDEFINED*"; 3][..]));
}
