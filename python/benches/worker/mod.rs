//! A Python program that does what is measured.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use opscope_bench::Contender;

/// The Python program that does what is measured.
pub struct Worker(Mutex<(ChildStdin, BufReader<ChildStdout>)>, Mutex<Child>);

impl Worker {
    /// Starts a program of this folder in the Python that the variable names.
    pub fn start(variable: &str, program: &str) -> Self {
        let python = std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is a Python with the package"));
        let script = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/benches")).join(program);
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Python starts");
        let (asked, answers) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self(Mutex::new((asked, BufReader::new(answers))), Mutex::new(child))
    }

    /// Returns the cost of what is named; times in nanoseconds.
    pub fn ask(&self, name: &str) -> f64 {
        let (asked, answers) = &mut *self.0.lock().expect("no contender panics");
        writeln!(asked, "{name}").and_then(|()| asked.flush()).expect("the worker is there");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("the worker answers");
        answer.trim().parse().unwrap_or_else(|_| panic!("the worker answers '{name}' with a number, not '{answer}'"))
    }

    pub fn contender(&self, name: &'static str) -> Contender<'_> {
        Contender::new(name, move || self.ask(name))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let child = self.1.get_mut().expect("no contender panics");
        let _ = child.kill().and_then(|()| child.wait());
    }
}
