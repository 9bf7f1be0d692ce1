//! Compiles programs, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

pub use language::Language;
pub use linked::{libraries, root, succeeds};

/// Stands for the program's own directory, in variables and arguments and in what is printed.
pub const DIRECTORY: &str = "{directory}";

/// A program to run, linked with the library and with opscope's ROCTx runtime.
pub struct Program {
    source: &'static str,
    languages: &'static [Language],
    roctx: Roctx,
    /// Shared libraries to compile: the source, the name that the file gets, and options.
    beside: Vec<(&'static str, &'static str, &'static [&'static str])>,
    variables: Vec<(&'static str, &'static str)>,
    arguments: Vec<&'static str>,
}

/// Where the program's ROCTx runtime is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Roctx {
    /// The program is linked with it.
    Linked,
    /// Only the system finds it.
    InPath,
    /// It lies beside the library.
    Beside,
    /// There is none.
    None,
}

/// What a program printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

/// A file of `tests/c` as a program, which is compiled as C and as C++ if it is a file of C.
pub fn program(source: &'static str) -> Program {
    let languages = if source.ends_with(".c") { Language::ALL.as_slice() } else { &[Language::Cxx17] };
    let (beside, variables, arguments) = (Vec::new(), Vec::new(), Vec::new());
    Program { source, languages, roctx: Roctx::Linked, beside, variables, arguments }
}

impl Program {
    /// Sets where its ROCTx runtime is.
    pub fn roctx(mut self, roctx: Roctx) -> Self {
        self.roctx = roctx;
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

    /// Runs the program, which must exit with 0. Returns what it printed, which is the same in all languages.
    #[track_caller]
    pub fn run(self) -> Printed {
        let mut printed = self.languages.iter().map(|language| self.run_as(*language));
        let first = printed.next().expect("a language");
        printed.for_each(|other| assert_eq!(first, other, "C and C++ behave alike"));
        first
    }

    #[track_caller]
    fn run_as(&self, language: Language) -> Printed {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().to_str().expect("UTF-8");
        for (source, name, options) in &self.beside {
            let mut command = compiler(language);
            command.arg(root().join("tests/c").join(source)).args(["-shared", "-fPIC", "-o"]);
            succeeds(command.arg(directory.path().join(name)).arg("-L").arg(libraries()).args(*options));
        }
        let made = directory.path().join("program");
        let mut command = compiler(language);
        command.arg(root().join("tests/c").join(self.source)).args(["-rdynamic", "-o"]).arg(&made);
        command.arg("-L").arg(libraries()).arg("-L").arg(roctx()).arg("-lrocprofiler64v2");
        // Not only if the program calls it.
        let runtime = (self.roctx == Roctx::Linked).then_some("-Wl,--no-as-needed,-lroctx64");
        succeeds(command.args(runtime).args(["-lpthread", "-ldl"]));
        let found = match self.roctx {
            Roctx::Linked | Roctx::InPath => format!("{}:{}", libraries().display(), roctx().display()),
            Roctx::Beside | Roctx::None => path.to_owned(),
        };
        let copy = |from: &Path, name| fs::copy(from.join(name), directory.path().join(name)).expect("a copy");
        if matches!(self.roctx, Roctx::Beside | Roctx::None) {
            copy(libraries(), "librocprofiler64.so.2");
        }
        if self.roctx == Roctx::Beside {
            copy(roctx(), "libroctx64.so.4");
        }
        // A program that hangs is a failure, not a test that never ends.
        let mut command = Command::new("timeout");
        command.env_clear().args(["-s", "ABRT", "120", "env"]).arg(format!("LD_LIBRARY_PATH={found}"));
        command.args(self.variables.iter().map(|(name, value)| format!("{name}={}", value.replace(DIRECTORY, path))));
        let arguments = self.arguments.iter().map(|argument| argument.replace(DIRECTORY, path));
        let output = succeeds(command.arg(made).args(arguments).current_dir(directory.path()));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8").replace(path, DIRECTORY);
        Printed { stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Returns the directory of opscope's ROCTx libraries.
fn roctx() -> &'static Path {
    static LIBRARIES: OnceLock<PathBuf> = OnceLock::new();
    LIBRARIES.get_or_init(|| linked::link(&root().join("../roctx"), "opscope-roctx"))
}

/// Returns a compiler that finds the headers.
pub fn compiler(language: Language) -> Command {
    let mut command = language.compiler();
    command.arg("-D_GNU_SOURCE");
    for place in ["include", "../roctx/include", "../../crates/producer/include"] {
        command.arg("-I").arg(root().join(place));
    }
    command
}
