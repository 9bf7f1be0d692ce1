//! A program that runs while the test does something else.

use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use crate::command::succeeds;

/// What a program printed. [`DIRECTORY`](crate::DIRECTORY) stands for its directory.
#[derive(Debug, PartialEq, Eq)]
pub struct Printed {
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
}

/// A program that runs. It is killed when this is dropped.
pub struct Running {
    child: Child,
    _directory: TempDir,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Starts a command whose child is the program.
    pub(crate) fn start(mut command: Command, directory: TempDir) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        Self { child, _directory: directory, stdout, stderr }
    }

    /// Reads the next line that it prints.
    #[track_caller]
    pub fn line(&mut self) -> String {
        match self.stdout.next() {
            Some(line) => line.expect("UTF-8"),
            None => panic!("the program has ended: {}", self.errors()),
        }
    }

    /// Reads lines until this one.
    #[track_caller]
    pub fn until(&mut self, line: &str) {
        while self.line() != line {}
    }

    /// Reads the next line of its standard error, with the line's end.
    #[track_caller]
    pub fn error_line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("UTF-8");
        line
    }

    /// Closes its standard input. A program may wait for that.
    pub fn end_input(&mut self) {
        self.child.stdin.take();
    }

    /// Kills the program itself, not only the `timeout` that runs it. Waits for its end.
    pub fn kill(&mut self) {
        self.signal("-KILL");
    }

    /// Sends a signal that ends the program itself, such as `-TERM`, and waits for its end.
    pub fn signal(&mut self, signal: &str) {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let children = std::fs::read_to_string(children).expect("the process");
        for child in children.split_whitespace() {
            succeeds(Command::new("kill").args([signal, child]));
        }
        let _ = self.child.wait();
    }

    /// Closes its standard input and waits until it ends. It must exit with 0. Returns the output that was not read
    /// before.
    #[track_caller]
    pub fn end(mut self) -> Printed {
        self.end_input();
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
