//! Compiles programs, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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

    /// Runs the program as this language. It must exit with 0.
    pub fn run_as(&self, language: Language) -> Printed {
        let directory = TempDir::new().expect("a directory");
        let program = compiled(self.source, language);
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

/// Returns a file of `tests/c` as a program of this language, which is compiled once.
fn compiled(source: &'static str, language: Language) -> PathBuf {
    type Compiled = HashMap<(&'static str, &'static str), Arc<OnceLock<PathBuf>>>;
    static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);
    let name = match language {
        Language::C11 => "c",
        Language::Cxx17 => "c++",
    };
    let one = {
        let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.get_or_insert_default().entry((source, name)).or_default())
    };
    one.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ascendcl-programs").join(name);
        fs::create_dir_all(&directory).expect("a directory");
        let program = directory.join(source).with_extension("");
        // Other test processes may do the same at the same time.
        let made = TempDir::new_in(&directory).expect("a directory");
        compile(source, language, &made.path().join("program"));
        fs::rename(made.path().join("program"), &program).expect("the program's place");
        program
    })
    .clone()
}

fn compile(source: &str, language: Language, program: &Path) {
    let mut compiler = language.compiler();
    compiler.arg("-D_GNU_SOURCE").arg("-I").arg(root().join("include")).arg(root().join("tests/c").join(source));
    let found = [format!("-L{}", libraries().display()), format!("-Wl,-rpath,{}", libraries().display())];
    succeeds(compiler.args(found).args(["-lascendcl", "-lpthread", "-ldl", "-o"]).arg(program));
}
