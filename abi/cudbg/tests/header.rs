//! The header that debuggers are compiled against. C and C++ compile it without a warning, its structs have the layouts
//! of the interface, and it names results.

use opscope_c_programs::{Language, Library, Program, source, succeeds};

#[test]
fn the_header_has_the_layouts_of_the_interface_in_every_language() {
    for (language, standard) in [
        (Language::C11, "-std=c99"),
        (Language::C11, "-std=c11"),
        (Language::C11, "-std=c17"),
        (Language::Cxx17, "-std=c++11"),
        (Language::Cxx17, "-std=c++17"),
        (Language::Cxx17, "-std=c++20"),
    ] {
        let mut compiler = language.compiler();
        compiler.args([standard, "-fsyntax-only"]).args(Library::Cudbg.header_options());
        succeeds(compiler.arg(Library::Cudbg.root().join("tests/c/layouts.c")));
    }
}

#[test]
fn results_have_their_names_and_other_numbers_have_none() {
    let text = "#include <stdio.h>\n#include <cudadebugger.h>\nint main(void) { for (int number = 0; number < 50; ++number) \
                puts(cudbgGetErrorString((CUDBGResult)number)); puts(cudbgGetErrorString((CUDBGResult)-1)); return 0; }\n";
    let printed = Program::of(Library::Cudbg, source("names.c", text)).run_as(Language::C11).stdout;
    let names: Vec<_> = printed.lines().collect();
    assert_eq!(
        (names[0], names[0x16], names[0x2c]),
        ("CUDBG_SUCCESS", "CUDBG_ERROR_NO_EVENT_AVAILABLE", "CUDBG_ERROR_RECURSIVE_API_CALL")
    );
    assert_eq!((names[0x2f], &names[0x30..]), ("CUDBG_ERROR_BREAKPOINT_STATE_CONFLICT", &["*UNDEFINED*"; 3][..]));
}
