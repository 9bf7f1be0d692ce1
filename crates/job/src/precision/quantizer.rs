//! ONNX Runtime's quantizer, in a Python of the user's.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use opscope_onnx::{Graph, ModelFile, Operator, OperatorId};
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, npy};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use super::PrecisionError;

const SCRIPT: &str = include_str!("quantize.py");

/// A running quantizer, which has calibrated a model.
pub(super) struct Quantizer<'g> {
    graph: &'g Graph,
    /// The name of each operator's node in the model that is quantised.
    names: Vec<String>,
    candidates: HashSet<OperatorId>,
    process: Mutex<Process>,
    python: PathBuf,
    /// The model, the inputs, and what calibration finds.
    scratch: TempDir,
}

/// Why the quantizer gives no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizerError {
    /// The Python cannot be started.
    #[error("it cannot be started: {0}")]
    Start(#[from] io::Error),
    /// Its process has ended.
    #[error("it has ended: {0}")]
    Ended(String),
    /// It prints something else than answers.
    #[error("it answers what it should not: {0}")]
    Answer(#[from] serde_json::Error),
    /// It says why.
    #[error("{0}")]
    Refused(String),
}

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    nodes: Vec<String>,
    error: Option<String>,
}

impl<'g> Quantizer<'g> {
    /// Starts the quantizer. It calibrates on these sets of inputs when it is first asked for a model. Its files are in a
    /// directory of its own in `beside`, until it is dropped.
    ///
    /// # Errors
    /// Returns an error if the Python cannot be started, lacks a package, or cannot read the model.
    pub fn start(python: &Path, graph: &'g Graph, sets: &[Vec<Tensor>], beside: &Path) -> Result<Self, PrecisionError> {
        let output = |source| PrecisionError::Output { path: beside.to_owned(), source };
        remove_left_over(beside);
        let scratch = tempfile::Builder::new().prefix(PREFIX).tempdir_in(beside).map_err(output)?;
        let model = scratch.path().join("model.onnx");
        let mut file = ModelFile::of(graph)?;
        let names = unique(file.node_names());
        for (operator, name) in graph.operators.iter().zip(&names) {
            file.main().node[operator.position].name.clone_from(name);
        }
        file.write(&model)?;
        let inputs = scratch.path().join("inputs");
        for (set, tensors) in sets.iter().enumerate() {
            let place = inputs.join(set.to_string());
            fs::create_dir_all(&place).map_err(output)?;
            for (slot, tensor) in tensors.iter().enumerate() {
                let written = fs::File::create(place.join(format!("{slot}.npy")));
                let mut file = written.map_err(output)?;
                npy::write(&tensor.view(), &mut file).map_err(|error| output(io::Error::other(error)))?;
            }
        }
        let mut command = Command::new(python);
        command.args(["-c", SCRIPT]).arg(&model).arg(&inputs).arg(scratch.path().join("calibration.json"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let failed = |source| PrecisionError::Quantizer { python: python.to_owned(), source };
        let mut child = command.spawn().map_err(|error| failed(error.into()))?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let Some(answers) = answers else {
            return Err(failed(QuantizerError::Ended("it has no output".to_owned())));
        };
        let mut process = Process { child, requests, answers: BufReader::new(answers) };
        let listed: HashSet<String> = process.answer().map_err(failed)?.nodes.into_iter().collect();
        let candidates = graph.operators.iter().filter(|operator| listed.contains(&names[operator.id.index()]));
        let candidates = candidates.map(|operator| operator.id).collect();
        Ok(Self { graph, names, candidates, process: Mutex::new(process), python: python.to_owned(), scratch })
    }

    /// Returns the operators that can be quantised, in order of execution.
    pub fn candidates(&self) -> impl Iterator<Item = &'g Operator> {
        self.graph.operators.iter().filter(|operator| self.candidates.contains(&operator.id))
    }

    /// Writes the model in which these operators stay as they are.
    ///
    /// # Errors
    /// Returns an error if the quantizer fails, or the file cannot be written.
    pub fn write(&self, kept: &HashSet<OperatorId>, path: &Path) -> Result<(), PrecisionError> {
        let written = self.quantised(kept)?;
        fs::rename(&written, path).map_err(|source| PrecisionError::Output { path: path.to_owned(), source })
    }

    /// Returns the file of the model in which these operators stay as they are. The next call replaces it.
    ///
    /// # Errors
    /// Returns an error if the quantizer fails.
    pub fn quantised(&self, kept: &HashSet<OperatorId>) -> Result<PathBuf, PrecisionError> {
        let path = self.scratch.path().join("quantised.onnx");
        let exclude: Vec<&String> = self
            .graph
            .operators
            .iter()
            .filter(|operator| kept.contains(&operator.id))
            .map(|operator| &self.names[operator.id.index()])
            .collect();
        let answer = self.process.lock().ask(&json!({ "exclude": exclude, "output": path }).to_string());
        let failed = |source| PrecisionError::Quantizer { python: self.python.clone(), source };
        answer.map_err(failed).map(|_| path)
    }
}

impl Process {
    fn ask(&mut self, request: &str) -> Result<Answer, QuantizerError> {
        let requests =
            self.requests.as_mut().ok_or_else(|| QuantizerError::Ended("it gets no more requests".to_owned()))?;
        writeln!(requests, "{request}").map_err(|error| QuantizerError::Ended(error.to_string()))?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Answer, QuantizerError> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if read.as_ref().map_or(true, |length| *length == 0) {
            let ended = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
            return Err(QuantizerError::Ended(ended));
        }
        let answer: Answer = serde_json::from_str(&line)?;
        match answer.error {
            Some(error) => Err(QuantizerError::Refused(error)),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when there are no more requests.
        self.requests = None;
        let ended: io::Result<_> = self.child.wait();
        drop(ended);
    }
}

/// The beginning of the name of a quantizer's directory.
const PREFIX: &str = "quantizer.";

/// Removes the directories of quantizers that were killed.
fn remove_left_over(beside: &Path) {
    for entry in fs::read_dir(beside).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // If it cannot be removed, it is only in the way of the user.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Gives a suffix to names that stand there a second time.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut result = Vec::with_capacity(names.len());
    for name in names {
        let mut candidates = (1..).map(|number| if number == 1 { name.clone() } else { format!("{name}_{number}") });
        let free = candidates.find(|candidate| !taken.contains(candidate)).unwrap_or_default();
        taken.insert(free.clone());
        result.push(free);
    }
    result
}
