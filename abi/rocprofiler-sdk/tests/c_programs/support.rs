//! Compiles programs, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

pub use language::Language;
pub use linked::{libraries, root, succeeds};

/// Stands for the program's own directory, in variables and in what is printed.
pub const DIRECTORY: &str = "{directory}";

/// A program to run, compiled in C and C++, with libraries of its own.
#[derive(Clone)]
pub struct Program {
    source: &'static str,
    options: Vec<&'static str>,
    /// Whether its ROCTx functions come from `runtime.c` instead of opscope's library.
    has_other_runtime: bool,
    /// Shared libraries to compile: the source, the name that the file gets, and options.
    beside: Vec<(&'static str, &'static str, &'static [&'static str])>,
    variables: Vec<(&'static str, &'static str)>,
    arguments: Vec<&'static str>,
}

/// What a program printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

/// A file of `tests/c` as a program.
pub fn program(source: &'static str) -> Program {
    Program {
        source,
        options: Vec::new(),
        has_other_runtime: false,
        beside: Vec::new(),
        variables: Vec::new(),
        arguments: Vec::new(),
    }
}

/// Runs a file of `tests/c` with opscope's ROCTx runtime, and with one that is written as AMD's. It prints nothing.
#[track_caller]
pub fn run_with_both_runtimes(program: Program) {
    for has_other_runtime in [false, true] {
        Program { has_other_runtime, ..program.clone() }.run_silently();
    }
}

impl Program {
    /// Adds an option of the compiler.
    pub fn option(mut self, option: &'static str) -> Self {
        self.options.push(option);
        self
    }

    /// Compiles another file of `tests/c` as a shared library of this name in the program's directory.
    pub fn beside(mut self, source: &'static str, name: &'static str, options: &'static [&'static str]) -> Self {
        self.beside.push((source, name, options));
        self
    }

    /// Sets a variable. The program has no others than the path of libraries.
    pub fn with(mut self, variable: &'static str, value: &'static str) -> Self {
        self.variables.push((variable, value));
        self
    }

    /// Adds an argument.
    pub fn argument(mut self, argument: &'static str) -> Self {
        self.arguments.push(argument);
        self
    }

    /// Runs the program, which must exit with 0 and print nothing.
    #[track_caller]
    pub fn run_silently(self) {
        assert_eq!(self.run(), Printed { stdout: String::new(), stderr: String::new() });
    }

    /// Runs the program, which must exit with 0. Returns what it printed, which is the same in C and C++.
    #[track_caller]
    pub fn run(self) -> Printed {
        let [c, cxx] = Language::ALL.map(|language| self.run_as(language));
        assert_eq!(c, cxx, "C and C++ behave alike");
        c
    }

    /// As [`run`](Self::run), but in one language.
    #[track_caller]
    pub fn run_as(&self, language: Language) -> Printed {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().to_str().expect("UTF-8");
        let shared = ["-shared", "-fPIC"];
        for (source, name, options) in &self.beside {
            compile(language, source, directory.path(), name, &[shared.as_slice(), options].concat());
        }
        let here = format!("-L{path}");
        let mut options = self.options.clone();
        if self.has_other_runtime {
            compile(language, "runtime.c", directory.path(), "libruntime.so", &shared);
            options.extend([here.as_str(), "-lruntime"]);
        } else {
            options.push("-lrocprofiler-sdk-roctx");
        }
        let program = compile(language, self.source, directory.path(), "program", &options);
        let found = format!("{path}:{}:{}", libraries().display(), roctx().display());
        // A program that hangs is a failure, not a test that never ends.
        let mut command = Command::new("timeout");
        command.env_clear().args(["-s", "ABRT", "120", "env"]).arg(format!("LD_LIBRARY_PATH={found}"));
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={}", value.replace(DIRECTORY, path))));
        let output = succeeds(command.arg(program).args(&self.arguments).current_dir(directory.path()));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(path, DIRECTORY);
        Printed { stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Returns the directory of opscope's ROCTx libraries.
pub fn roctx() -> &'static Path {
    static LIBRARIES: OnceLock<PathBuf> = OnceLock::new();
    LIBRARIES.get_or_init(|| linked::link(&root().join("../roctx"), "opscope-roctx"))
}

/// Returns a compiler that finds the headers.
pub fn compiler(language: Language) -> Command {
    let mut command = language.compiler();
    command.arg("-D_GNU_SOURCE").arg("-I").arg(root().join("include"));
    command.arg("-I").arg(root().join("../roctx/include")).arg("-I").arg(root().join("../../crates/producer/include"));
    command
}

fn compile(language: Language, source: &str, directory: &Path, name: &str, options: &[&str]) -> PathBuf {
    let made = directory.join(name);
    let mut command = compiler(language);
    command.arg(root().join("tests/c").join(source)).args(["-rdynamic", "-o"]).arg(&made);
    command.arg("-L").arg(libraries()).arg("-L").arg(roctx());
    succeeds(command.args(options).args(["-lrocprofiler-sdk", "-lpthread", "-ldl"]));
    made
}
