//! Compiles programs, and runs them.

mod language;
mod linked;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use language::Language;
pub use linked::{libraries as library, link, root, succeeds};

pub fn models() -> PathBuf {
    root().join("../../models")
}

/// Compiles a file of `tests/c` and returns the program.
pub fn compile(file: &str, language: Language, include: &Path) -> PathBuf {
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_programs");
    fs::create_dir_all(&programs).expect("a directory");
    let name = file.trim_end_matches(".c").trim_end_matches(".cpp");
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let program = programs.join(format!("{name}-{language:?}-{}-{number}", std::process::id()));
    let source = root().join("tests/c").join(file);
    let mut command = language.compiler();
    command
        .arg("-I")
        .arg(include)
        .arg("-I")
        .arg(root().join("../../crates/producer/include"))
        .arg("-rdynamic")
        .arg(&source)
        .arg("-o")
        .arg(&program);
    command.arg("-L").arg(library()).args(["-lopscope", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", library().display()));
    succeeds(&mut command);
    program
}

/// Stands for a new, empty directory among the arguments of a program.
pub const DIRECTORY: &str = "{directory}";

/// Compiles a file of `tests/c` in both languages, and runs it with these arguments. It must exit with 0. Returns what it
/// printed, which is the same in both.
pub fn run(file: &str, arguments: &[&str]) -> String {
    run_prepared(file, arguments, |_| ())
}

/// As [`run`], but prepares the directory first, in which the program also looks for consumers.
pub fn run_prepared(file: &str, arguments: &[&str], prepare: impl Fn(&Path)) -> String {
    let include = root().join("include");
    let mut printed = Language::ALL.map(|language| run_as(file, language, &include, arguments, &prepare));
    assert_eq!(printed[0], printed[1], "C and C++ behave alike");
    std::mem::take(&mut printed[0])
}

/// As [`run`], but compiles against the first version of the header, as C alone.
pub fn run_with_first_header(file: &str, arguments: &[&str]) -> String {
    run_as(file, Language::C11, &root().join("tests/c/first"), arguments, &|_| ())
}

fn run_as(file: &str, language: Language, include: &Path, arguments: &[&str], prepare: &dyn Fn(&Path)) -> String {
    let program = compile(file, language, include);
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("UTF-8");
    prepare(directory.path());
    let arguments = arguments.iter().map(|argument| argument.replace(DIRECTORY, path));
    // A program that hangs is a failure, not a test that never ends.
    let mut command = Command::new("timeout");
    command.arg("600").arg(&program).args(arguments).current_dir(models());
    let output = succeeds(command.env("OPSCOPE_LIB_DIR", path));
    fs::remove_file(program).expect("the program exists");
    String::from_utf8(output.stdout).expect("UTF-8").replace(path, DIRECTORY)
}
