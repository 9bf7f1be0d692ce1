//! Compiles programs, and runs them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The language that a program is compiled as.
#[derive(Clone, Copy)]
pub enum Language {
    C11,
    Cxx17,
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn models() -> PathBuf {
    root().join("../../models")
}

/// Returns the directory of libopscope.so, which is linked once for all tests.
pub fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let output = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libopscope");
        fs::create_dir_all(&output).expect("a directory");
        // Other test processes may do the same at the same time.
        let lock = File::create(output.join(".lock")).expect("a lock");
        lock.lock().expect("the lock");
        let archive = archive();
        let made = output.join("libopscope.so");
        let age = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let sources = [archive.clone(), root().join("exports.map"), root().join("../../scripts/link-library")];
        if age(&made).is_none() || sources.iter().any(|source| age(source) > age(&made)) {
            let mut link = Command::new(root().join("../../scripts/link-library"));
            succeeds(link.arg("opscope").arg(archive).arg(&output));
        }
        output
    })
}

/// Returns the archive that cargo built along with this test's program: the newest beside it.
fn archive() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let files = fs::read_dir(program.parent().expect("a directory")).expect("its files").flatten();
    let is_archive = |name: &str| name.starts_with("libopscope_c-") && name.ends_with(".a");
    let archives = files.filter(|file| file.file_name().to_str().is_some_and(is_archive));
    let newest = archives.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok());
    newest.expect("cargo builds the archive with the tests").path()
}

/// Compiles a file of `tests/c` and returns the program.
pub fn compile(file: &str, language: Language, include: &Path) -> PathBuf {
    let (compiler, standard, suffix) = match language {
        Language::C11 => ("cc", "-std=c11", "c11"),
        Language::Cxx17 => ("c++", "-std=c++17", "cxx17"),
    };
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_programs");
    fs::create_dir_all(&programs).expect("a directory");
    let name = file.trim_end_matches(".c").trim_end_matches(".cpp");
    static COMPILED: AtomicUsize = AtomicUsize::new(0);
    let number = COMPILED.fetch_add(1, Ordering::Relaxed);
    let program = programs.join(format!("{name}-{suffix}-{}-{number}", std::process::id()));
    let source = root().join("tests/c").join(file);
    let mut command = Command::new(compiler);
    if matches!(language, Language::Cxx17) {
        command.args(["-x", "c++"]);
    }
    command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1"]);
    command
        .arg("-I")
        .arg(include)
        .arg("-I")
        .arg(root().join("../producer/include"))
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
    let mut printed =
        [Language::C11, Language::Cxx17].map(|language| run_as(file, language, &include, arguments, &prepare));
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

/// Runs a command that must succeed.
pub fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(output.status.success(), "{command:?}\n{}\n{stdout}\n{stderr}", output.status);
    output
}
