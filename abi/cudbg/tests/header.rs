//! The header is what a debugger is compiled against: C and C++ take it without a warning, with the layouts that the interface has.

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
