//! Interpreters of other processes. `OPSCOPE_TEST_CPYTHON` is one of 3.14, such as `scripts/python-3.14` prints.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use opscope_cpython::{Interpreter, Refusal};
use opscope_model::testing::skipped;
use tempfile::TempDir;

/// A program that has begun. It is killed in the end.
struct Running(Child);

impl Running {
    /// Starts a program that first prints a line.
    fn start(python: &Path, options: &[&str], program: &str) -> Self {
        let program = format!("import sys, threading, time\nprint('begun', flush=True)\n{program}");
        let mut command = Command::new(python);
        command.args(options).args(["-c", &program]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("it is a pipe");
        BufReader::new(out).read_line(&mut line).expect("it prints a line");
        assert_eq!(line, "begun\n");
        Self(child)
    }

    /// Waits until its main thread is in a library, where it executes no script: it reads all of its standard input, and has read a part
    /// of more than a pipe holds.
    fn reads_its_input(&self) {
        let mut input = self.0.stdin.as_ref().expect("it is a pipe");
        input.write_all(&[b'\n'; 1 << 18]).expect("it reads");
    }

    fn interpreter(&self) -> Result<Interpreter, Refusal> {
        Interpreter::of(self.0.id())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn python() -> Option<PathBuf> {
    let found = std::env::var_os("OPSCOPE_TEST_CPYTHON").map(PathBuf::from);
    found.or_else(|| {
        skipped("OPSCOPE_TEST_CPYTHON names no CPython 3.14");
        None
    })
}

/// A script that writes the name of its thread into a file.
struct Script {
    _place: TempDir,
    path: PathBuf,
    written: PathBuf,
}

impl Script {
    fn new() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let [path, part, written] = ["script.py", "part", "written"].map(|name| place.path().join(name));
        let text = format!(
            "import os, threading\nopen({part:?}, 'w').write(threading.current_thread().name)\nos.rename({part:?}, {written:?})\n"
        );
        fs::write(&path, text).expect("a file");
        Self { _place: place, path, written }
    }

    /// Waits until it was executed, and returns the name of the thread.
    fn executed(&self) -> String {
        let begun = Instant::now();
        while !self.written.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it was not executed");
            thread::sleep(Duration::from_millis(2));
        }
        fs::read_to_string(&self.written).expect("the name")
    }
}

#[test]
fn the_main_thread_executes_a_script_and_goes_on() {
    let Some(python) = python() else { return };
    let mut running =
        Running::start(&python, &[], "while sum(range(1000)) and sys.stdin.closed is False:\n  time.sleep(0.001)");
    let interpreter = running.interpreter().expect("it can be asked");
    for _again in 0..3 {
        let script = Script::new();
        interpreter.execute_on_main_thread(&script.path).expect("it is asked");
        assert_eq!(script.executed(), "MainThread");
    }
    assert!(running.0.try_wait().expect("its state").is_none(), "it goes on");
}

#[test]
fn another_thread_executes_it_if_the_main_thread_waits_in_a_library() {
    let Some(python) = python() else { return };
    let program = "def work():\n  while True: time.sleep(0.001)\nthreading.Thread(target=work, name='worker', daemon=True).start()\nsys.stdin.read()";
    let running = Running::start(&python, &[], program);
    running.reads_its_input();
    let script = Script::new();
    running.interpreter().expect("it can be asked").execute_on_every_thread(&script.path).expect("it is asked");
    assert_eq!(script.executed(), "worker");
}

#[test]
fn what_is_taken_back_is_not_executed() {
    let Some(python) = python() else { return };
    let mut running = Running::start(&python, &[], "sys.stdin.read()\nprint(sum(range(100000)))");
    running.reads_its_input();
    let interpreter = running.interpreter().expect("it can be asked");
    let script = Script::new();
    interpreter.execute_on_main_thread(&script.path).expect("it is asked");
    interpreter.take_back().expect("it is asked");
    drop(running.0.stdin.take());
    assert!(running.0.wait().expect("its end").success());
    assert!(!script.written.exists());
}

#[test]
fn a_program_that_has_switched_it_off_and_a_path_that_is_too_long_are_refused() {
    let Some(python) = python() else { return };
    let off = Running::start(&python, &["-X", "disable-remote-debug"], "sys.stdin.read()");
    assert!(matches!(off.interpreter(), Err(Refusal::SwitchedOff(pid)) if pid == off.0.id()));
    let on = Running::start(&python, &[], "sys.stdin.read()");
    let interpreter = on.interpreter().expect("it can be asked");
    let long = Path::new("/").join("x".repeat(511));
    assert!(matches!(interpreter.execute_on_main_thread(&long), Err(Refusal::LongPath(path)) if path == long));
    assert!(
        interpreter.execute_on_main_thread(&Path::new("/").join("x".repeat(510))).is_ok(),
        "it has room for a zero"
    );
}

#[test]
fn an_older_interpreter_is_refused_by_its_version() {
    let version = Command::new("python3").args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).output();
    let Ok(version) = version else { return skipped("there is no python3") };
    let version = String::from_utf8(version.stdout).expect("UTF-8").trim().to_owned();
    let is_older =
        version.strip_prefix("3.").and_then(|minor| minor.parse::<u32>().ok()).is_some_and(|minor| minor < 14);
    if !is_older {
        return skipped("python3 is not an older CPython");
    }
    let running = Running::start(Path::new("python3"), &[], "sys.stdin.read()");
    match running.interpreter() {
        Err(Refusal::TooOld { version: found, .. }) => assert!(found.is_none_or(|found| found == version)),
        Err(refusal) => panic!("{refusal}"),
        Ok(_) => panic!("it is refused"),
    }
}
