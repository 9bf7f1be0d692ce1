//! The result of a reduction.

use std::fmt;
use std::path::PathBuf;

use opscope::engine::EngineName;
use opscope_text::{counted, shell_path, shell_word, shown_size};
use serde::Serialize;
use serde_json::{Value, json};

use super::check::{CheckSpec, quoted_command};
use super::fails::{Fails, Failure};
use super::written::WrittenCase;

/// The smaller model.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// The model that was given.
    pub model: PathBuf,
    /// The requested failure.
    pub fails: Fails,
    /// How the whole model failed.
    pub failure: Failure,
    /// The operators of the whole model and of the smaller one.
    pub operators: (usize, usize),
    /// The types of the smaller model's operators, in the order of the file.
    pub operator_types: Vec<String>,
    /// The files.
    pub written: WrittenCase,
    /// The size of the files in bytes.
    pub size: u64,
    /// A shell command that shows the failure.
    pub command: String,
    /// Whether the search came to its end.
    pub is_minimal: bool,
    /// Whether the user ended the search.
    pub is_cancelled: bool,
    /// Whether names and data were to be replaced.
    pub is_anonymous: bool,
    /// What of the original had to stay although it was to be replaced.
    pub kept: Vec<Kept>,
    /// How many models were run.
    pub checks: u64,
    /// The time that it took, in seconds.
    pub seconds: f64,
}

/// Something of the original that the failure needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Its name in the smaller model.
    pub name: String,
    /// What it is, and why it stays.
    pub what: String,
    /// Whether it belongs to the structure of the model, as a shape does, and says nothing about its data.
    pub is_structure: bool,
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl Reduced {
    /// Returns whether everything was done: the search came to its end, and nothing of the original had to stay.
    pub fn is_complete(&self) -> bool {
        self.is_minimal && !self.is_cancelled && self.kept.iter().all(|kept| kept.is_structure)
    }

    /// Returns the result in three lines.
    pub fn text(&self) -> String {
        let (before, after) = self.operators;
        let replaced = match (self.is_anonymous, self.kept.iter().all(|kept| kept.is_structure)) {
            (true, true) => "; names and weights replaced",
            (true, false) => "; names and weights replaced but for what is named below",
            (false, _) => "",
        };
        let mut text =
            format!("{} -> {after}; fails in the same way in a new process{replaced}\n", counted(before, "operator"));
        let inputs = self.written.inputs.as_ref().map(|path| format!(" and {}", path.display())).unwrap_or_default();
        text.push_str(&format!("{}{inputs}, {}\n", self.written.model.display(), shown_size(self.size)));
        for kept in &self.kept {
            text.push_str(&format!("stays as it was: {kept}\n"));
        }
        text.push_str(&format!("see it fail: {}", self.command));
        text
    }

    /// Returns the result as JSON: `opscope.reduce/1`, which `docs/json.md` describes.
    pub fn json(&self) -> Value {
        json!({
            "schema": "opscope.reduce/1",
            "model": self.model.to_string_lossy(),
            "fails": self.fails.to_string(),
            "failure": self.failure,
            "operators": { "before": self.operators.0, "after": self.operators.1, "types": self.operator_types },
            "output": self.written.model.to_string_lossy(),
            "inputs": self.written.inputs.as_ref().map(|path| path.to_string_lossy()),
            "bytes": self.size,
            "minimal": self.is_minimal && !self.is_cancelled,
            "anonymised": self.is_anonymous,
            "kept": self.kept,
            "checks": self.checks,
            "seconds": self.seconds,
            "command": self.command,
        })
    }
}

/// Returns a shell command that shows how the written model fails.
pub fn command(written: &WrittenCase, spec: &CheckSpec) -> String {
    let model = shell_path(&written.model);
    let inputs = written.inputs.as_ref().map(|path| shell_word(format!("--input={}", path.display())));
    let engine: Vec<String> = spec.words.iter().map(shell_word).collect();
    let options: Vec<String> = inputs.into_iter().chain(engine).collect();
    let joined = |first: &str, last: &[&str]| {
        let words = [first].into_iter().chain(options.iter().map(String::as_str)).chain(last.iter().copied());
        words.collect::<Vec<_>>().join(" ")
    };
    match &spec.fails {
        Fails::FirstNonfinite => {
            joined(&format!("opscope debug {model}"), &["-ex", "'catch nan'", "-ex", "'catch inf'", "-ex", "run"])
        }
        Fails::EnginesDiffer => {
            let [first, second] = ["--engine=tract", "--reference-engine=onnxruntime"];
            let inputs = options.iter().filter(|word| word.contains("--input")).cloned().collect::<Vec<_>>().join(" ");
            let library = options.iter().filter(|word| !word.contains("--input") && !word.starts_with("--engine="));
            let library = library.cloned().collect::<Vec<_>>().join(" ");
            [format!("opscope compare {model} {model}"), inputs, first.to_owned(), second.to_owned(), library]
                .into_iter()
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }
        // A benchmark compares plans on other numbers if an input has one number only.
        Fails::PlanDiffers => joined(&format!("opscope reduce {model}"), &["--fails 'plan differs'", "--check"]),
        Fails::Error(_) if spec.engine.name == EngineName::Tract => joined(&format!("opscope benchmark {model}"), &[]),
        Fails::Error(_) => joined(&format!("opscope benchmark {model}"), &["--isolate"]),
        Fails::Crash => joined(&format!("opscope benchmark {model}"), &["--verify=on", "--isolate"]),
        Fails::Command(command) => {
            quoted_command(command, &written.model, written.inputs.as_deref()).to_string_lossy().into_owned()
        }
    }
}
