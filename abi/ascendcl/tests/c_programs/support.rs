//! Compiles programs, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

pub use language::Language;
pub use linked::{libraries, root, succeeds};

/// The source of the functions that are not here.
pub const UNSUPPORTED: [&str; 4] = [
    include_str!("../../src/unsupported/models.rs"),
    include_str!("../../src/unsupported/operators.rs"),
    include_str!("../../src/unsupported/profiling.rs"),
    include_str!("../../src/unsupported/runtime.rs"),
];

/// A file of `tests/c` as a program that is linked with the library.
pub struct Program {
    source: &'static str,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    /// Where it runs; `None` for an empty directory.
    directory: Option<PathBuf>,
}

/// What a program printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

pub fn program(source: &'static str) -> Program {
    Program { source, arguments: Vec::new(), variables: Vec::new(), directory: None }
}

impl Program {
    /// Adds an argument.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable. The program has no others.
    pub fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((variable, value.into()));
        self
    }

    /// Runs it in this directory.
    pub fn inside(mut self, directory: PathBuf) -> Self {
        self.directory = Some(directory);
        self
    }

    /// Runs the program as C and as C++. It must exit with 0. Returns what it printed, which is the same in both.
    pub fn run(self) -> Printed {
        let [c, cxx] = Language::ALL.map(|language| self.run_as(language));
        assert_eq!(c, cxx, "C and C++ behave alike");
        c
    }

    fn run_as(&self, language: Language) -> Printed {
        let directory = TempDir::new().expect("a directory");
        let program = directory.path().join("program");
        let mut compiler = language.compiler();
        compiler
            .arg("-D_GNU_SOURCE")
            .arg("-I")
            .arg(root().join("include"))
            .arg(root().join("tests/c").join(self.source));
        let found = [format!("-L{}", libraries().display()), format!("-Wl,-rpath,{}", libraries().display())];
        succeeds(compiler.args(found).args(["-lascendcl", "-lpthread", "-ldl", "-o"]).arg(&program));
        // A program that hangs is a failure, not a test that never ends.
        let mut command = Command::new("timeout");
        command
            .current_dir(self.directory.as_deref().unwrap_or(directory.path()))
            .env_clear()
            .arg("300")
            .arg(program)
            .args(&self.arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = succeeds(&mut command);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Printed { stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
