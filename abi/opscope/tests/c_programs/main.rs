//! Programs in C and C++, compiled against the header, linked with the library, and run.

use std::path::{Path, PathBuf};

use opscope_c_programs::{DIRECTORY, Library, Program, models};

mod instruments;
mod library;
mod misuse;
mod session;
mod tools;
mod tour;
mod v2_tools;

/// The lines of a tool, and the lines of a consumer.
const TOOL_LOG: &str = "tool.log";
const CONSUMER_LOG: &str = "consumer.log";

/// A file of `tests/c` as a program that is linked with the library and runs where the models are. It looks for
/// consumers in its own directory.
fn program(source: &str) -> Program {
    let program = Program::of(Library::Opscope, source).options(&["-rdynamic", "-lopscope"]);
    program.inside(models()).with("OPSCOPE_LIB_DIR", DIRECTORY)
}

/// A file of `tests/c` that is linked with the library, and with the tool in `tests/models` of another library. It and
/// its consumer write into a directory.
///
/// It is not linked with `-rdynamic`, because a tool in a program is found without that.
fn with_tool(source: &str, tools: Library, what: &str, directory: &Path) -> Program {
    let program = Program::of(Library::Opscope, source).and(tools.root().join("tests/models/tool.c")).uses(tools);
    let program = program.options(&["-lopscope", &tools.rpath()]);
    let path = |path: PathBuf| path.to_str().expect("UTF-8").to_owned();
    let variables =
        [("OPSCOPE_LIB_DIR", "lib"), ("TOOL_LOG", TOOL_LOG), ("V2_LOG", TOOL_LOG), ("CONSUMER_LOG", CONSUMER_LOG)];
    let program =
        variables.iter().fold(program, |program, (name, file)| program.with(name, path(directory.join(file))));
    program.argument(what).argument(path(models().join("digits_cnn.onnx")))
}

/// Runs a file of `tests/c` with these arguments. Returns what it printed.
#[track_caller]
fn run(source: &str, arguments: &[&str]) -> String {
    program(source).arguments(arguments.iter().copied()).run().stdout
}
