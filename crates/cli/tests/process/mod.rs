//! The built command, run in a temporary directory of its own.

// Every test file is a crate of its own, and uses only a part of this.
#![allow(dead_code)]

#[path = "../../../dump/tests/disk/mod.rs"]
pub mod disk;
pub mod engine;
pub mod onnx;
pub mod running;
pub mod tensors;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Variables that change what `--profiler` writes.
pub const RAW_ONLY: [&str; 4] =
    ["GE_PROFILING_TO_STD_OUT", "GE_PROFILIGN_TO_STD_OUT", "AIT_NO_MSPROF_MODE", "MSIT_NO_MSPROF_MODE"];

/// Returns the path of a file of `models/`.
pub fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    path.canonicalize().unwrap_or(path).to_str().unwrap().to_owned()
}

/// Returns the path of a file of `models/fixtures/`.
pub fn fixture(name: &str) -> String {
    model(&format!("fixtures/{name}"))
}

/// A temporary directory in which commands run.
pub struct Workplace {
    directory: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Workplace {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns `opscope` with these arguments, not started.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_opscope"));
        command.args(arguments).current_dir(self.directory.path()).stdin(Stdio::null());
        for name in RAW_ONLY {
            command.env_remove(name);
        }
        command.env("OPSCOPE_ENGINE", engine::name());
        // Results of a verification are not kept, unless a test sets a directory.
        command.env("XDG_CACHE_HOME", "/dev/null");
        command
    }

    /// Runs `opscope benchmark`, which may fail. The model runs once, unless the arguments say how often.
    pub fn benchmark(&self, arguments: &[&str]) -> Ended {
        end(&mut self.command(&[&["benchmark"], arguments, once(arguments)].concat()))
    }

    /// Runs `opscope benchmark`, which must succeed.
    pub fn benchmark_well(&self, arguments: &[&str]) -> Ended {
        let ended = self.benchmark(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
        ended
    }

    /// Runs `opscope export`.
    pub fn export(&self, arguments: &[&str]) -> Ended {
        end(&mut self.command(&[&["export"], arguments].concat()))
    }

    /// Runs `opscope compare`, which may find a difference.
    pub fn compare(&self, arguments: &[&str]) -> Ended {
        end(&mut self.command(&[&["compare"], arguments].concat()))
    }

    /// Dumps the values of one run of a model, to `dump/NAME`.
    pub fn dump(&self, model: &str, input: &str, name: &str) {
        let run = ["--loop", "1", "--warmup-count", "0", "--dump", "--output", ".", "--output-dirname", name];
        self.benchmark_well(&[&[model, "--input", input], &run[..]].concat());
    }

    /// Returns everything in a directory, as sorted paths relative to it; empty if it does not exist.
    pub fn tree(&self, name: &str) -> Vec<String> {
        let top = self.path(name);
        let mut found = Vec::new();
        let mut open = vec![top.clone()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten() {
                let path = entry.unwrap().path();
                found.push(path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned());
                if path.is_dir() {
                    open.push(path);
                }
            }
        }
        found.sort();
        found
    }

    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Reads a file with a JSON document on each line.
    pub fn json_lines(&self, name: &str) -> Vec<Value> {
        self.text(name).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the path of the only entry of a directory.
    pub fn only(&self, name: &str) -> String {
        let mut entries = fs::read_dir(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let first = entries.next().unwrap().unwrap().file_name().into_string().unwrap();
        assert!(entries.next().is_none(), "{name} holds more than {first}");
        format!("{name}/{first}")
    }
}

impl Ended {
    /// Checks that the command was refused: one error with these texts, and no result.
    pub fn refused(&self, code: i32, says: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let errors = self.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "{self:?}");
        for text in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
            assert!(!self.stderr.contains(text), "{self:?}");
        }
        self.says(says);
    }

    /// Checks that standard error has each of these texts.
    pub fn says(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.stderr.contains(text), "{text:?} is not in {self:?}");
        }
    }

    /// Returns standard output as one JSON document.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns the rows of a comparison.
pub fn rows(comparison: &Value) -> &Vec<Value> {
    comparison["rows"].as_array().unwrap()
}

/// Returns the options that make a benchmark run the model once, unless its arguments say how often.
pub fn once(arguments: &[&str]) -> &'static [&'static str] {
    let says = |argument: &&str| ["--loop", "--duration", "--until-stable"].contains(argument);
    if arguments.iter().any(says) { &[] } else { &["--loop", "1"] }
}

/// Runs a command to its end.
pub fn end(command: &mut Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the rows of a CSV file, each a list of fields. Quoted fields may contain commas, doubled quotes and line
/// breaks.
pub fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            _ => field.push(letter),
        }
    }
    assert!(!quoted && field.is_empty() && row.is_empty(), "the file ends within a row");
    rows
}
