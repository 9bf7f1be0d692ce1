//! Compiles clients, and runs them.

#[path = "../../../opscope/tests/c_programs/support/language.rs"]
mod language;
#[path = "../../../opscope/tests/c_programs/support/linked.rs"]
mod linked;

use std::io::{BufRead, BufReader, Lines, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::rc::Rc;

use tempfile::TempDir;

pub use language::Language;
pub use linked::{libraries, root, succeeds};

/// A client, compiled.
pub struct Program {
    path: PathBuf,
    directory: Rc<TempDir>,
}

/// A client that runs.
pub struct Running {
    child: Child,
    _directory: Rc<TempDir>,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: BufReader<ChildStderr>,
}

/// What a client printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
}

/// Compiles a file of `tests/c`.
pub fn program(source: &str, language: Language) -> Program {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("program");
    let mut compiler = language.compiler();
    // Functions of the table are called with structures of which only a part is looked at.
    compiler.args(["-D_GNU_SOURCE", "-Wno-unused-function", "-I"]).arg(root().join("include"));
    compiler.arg(root().join("tests/c").join(source)).arg("-o").arg(&path);
    compiler.arg("-L").arg(libraries()).args(["-l:libcudadebugger.so.1", "-lpthread", "-ldl"]);
    succeeds(&mut compiler);
    Program { path, directory: Rc::new(directory) }
}

impl Program {
    /// Starts it, with arguments and variables.
    pub fn start(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        // A program that hangs is a failure, not a test that never ends.
        let mut command = Command::new("timeout");
        command.args(["-s", "ABRT", "120"]).arg(&self.path).args(arguments);
        command.env_clear().env("LD_LIBRARY_PATH", libraries()).env("TMPDIR", std::env::temp_dir());
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the client can be started");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        Running { child, _directory: Rc::clone(&self.directory), stdout, stderr }
    }
}

impl Running {
    /// Reads the next line that it prints.
    #[track_caller]
    pub fn line(&mut self) -> String {
        match self.stdout.next() {
            Some(line) => line.expect("UTF-8"),
            None => panic!("the client has ended: {}", self.errors()),
        }
    }

    /// Reads lines until this one.
    #[track_caller]
    pub fn until(&mut self, line: &str) {
        while self.line() != line {}
    }

    /// Reads the next line of its errors.
    #[track_caller]
    pub fn error_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("UTF-8");
        line
    }

    /// Lets it go on, where it waits for that: its standard input ends.
    pub fn go_on(&mut self) {
        self.child.stdin.take();
    }

    pub fn kill(&mut self) {
        // The client, and not what watches its time.
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).expect("the process");
        for child in children.split_whitespace() {
            succeeds(Command::new("kill").args(["-KILL", child]));
        }
        let _ = self.child.wait();
    }

    /// Waits until it ends, which must be a success. Returns what it printed that was not read before.
    #[track_caller]
    pub fn end(mut self) -> Printed {
        self.go_on();
        let mut stdout = String::new();
        for line in &mut self.stdout {
            stdout += &line.expect("UTF-8");
            stdout.push('\n');
        }
        let stderr = self.errors();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}\n{stdout}\n{stderr}");
        Printed { stdout, stderr }
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        self.stderr.read_to_string(&mut text).expect("UTF-8");
        text
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
