//! Compiles programs, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use language::Language;
pub use linked::{libraries, succeeds};

/// The names of the libraries, as the linker finds them.
pub const SDK: &str = "rocprofiler-sdk-roctx";
pub const OLDER: &str = "roctx64";

/// A program to run, compiled in both languages, with libraries that stand for others.
pub struct Program {
    source: &'static str,
    options: Vec<String>,
    /// Shared libraries to compile: the source, and the name that the file gets.
    stand_ins: Vec<(&'static str, &'static str)>,
    /// Libraries of this crate to copy, by their names.
    copies: Vec<&'static str>,
    variables: Vec<(&'static str, &'static str)>,
}

/// What a program printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

/// Stands for the program's own directory, in variables and in what is printed.
const DIRECTORY: &str = "{directory}";

/// A file of `tests/c` as a program that is linked with one of the libraries.
pub fn program(source: &'static str, library: &str) -> Program {
    let found = [format!("-L{}", libraries().display()), format!("-Wl,-rpath,{}", libraries().display())];
    let options = found.into_iter().chain([format!("-l{library}")]).collect();
    Program { source, options, stand_ins: Vec::new(), copies: Vec::new(), variables: Vec::new() }
}

impl Program {
    /// Adds an option of the compiler.
    pub fn option(mut self, option: &str) -> Self {
        self.options.push(option.to_owned());
        self
    }

    /// Compiles another file of `tests/c` as a shared library of this name in the program's directory.
    pub fn beside(mut self, source: &'static str, name: &'static str) -> Self {
        self.stand_ins.push((source, name));
        self
    }

    /// Copies one of the crate's libraries into the program's directory.
    pub fn copy_of(mut self, library: &'static str) -> Self {
        self.copies.push(library);
        self
    }

    /// Sets a variable. The program has no others.
    pub fn with(mut self, variable: &'static str, value: &'static str) -> Self {
        self.variables.push((variable, value));
        self
    }

    /// Runs the program, which must exit with 0. Returns what it printed, which is the same in C and C++.
    pub fn run(self) -> Printed {
        let [c, cxx] = Language::ALL.map(|language| self.run_as(language));
        assert_eq!(c, cxx, "C and C++ behave alike");
        c
    }

    fn run_as(&self, language: Language) -> Printed {
        let directory = TempDir::new().expect("a directory");
        let program = compile(language, self.source, directory.path(), "program", &self.options);
        for (source, name) in &self.stand_ins {
            compile(language, source, directory.path(), name, &["-shared".to_owned(), "-fPIC".to_owned()]);
        }
        for name in &self.copies {
            std::fs::copy(libraries().join(name), directory.path().join(name)).expect("a copy");
        }
        let path = directory.path().to_str().expect("UTF-8");
        // A program that hangs is a failure, not a test that never ends.
        let mut command = Command::new("timeout");
        command.env_clear().arg("300").arg("env");
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={}", value.replace(DIRECTORY, path))));
        let output = succeeds(command.arg(program));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(path, DIRECTORY);
        Printed { stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs a file of `tests/c` that loads the libraries itself, with their paths as arguments.
pub fn run_alone(source: &str, libraries: &[PathBuf]) {
    for language in Language::ALL {
        let directory = TempDir::new().expect("a directory");
        let program = compile(language, source, directory.path(), "program", &["-ldl".to_owned()]);
        succeeds(Command::new("timeout").arg("300").arg(program).args(libraries));
    }
}

fn compile(language: Language, source: &str, directory: &Path, name: &str, options: &[String]) -> PathBuf {
    let made = directory.join(name);
    let root = linked::root();
    let mut command = language.compiler();
    command.arg("-D_GNU_SOURCE").arg("-I").arg(root.join("include")).arg(root.join("tests/c").join(source));
    command.args(options).args(["-rdynamic", "-lpthread", "-ldl", "-o"]);
    succeeds(command.arg(&made));
    made
}
