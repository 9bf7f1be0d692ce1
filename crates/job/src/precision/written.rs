//! The directory with the results of a search.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use opscope_files::replace_whole;
use opscope_onnx::{Graph, ModelFile, Operator, OperatorId};

use super::PrecisionError;
use super::conversion::Conversion;
use super::low_type::LowType;

/// The directory. Each file in it is whole, or not there.
pub(super) struct Output<'a> {
    directory: PathBuf,
    /// The name of the model's file.
    name: String,
    /// The name of each operator's node in the model.
    nodes: Vec<String>,
    graph: &'a Graph,
}

impl<'a> Output<'a> {
    /// Creates the directory if it is not there.
    ///
    /// # Errors
    /// Returns an error if that is not possible.
    pub fn create(directory: &Path, graph: &'a Graph, low: LowType) -> Result<Self, PrecisionError> {
        let failed = |source| PrecisionError::Output { path: directory.to_owned(), source };
        fs::create_dir_all(directory).map_err(failed)?;
        let stem = graph.source.path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}_{}.onnx", low);
        let nodes = ModelFile::of(graph)?.node_names();
        Ok(Self { directory: directory.to_owned(), name, nodes, graph })
    }

    /// Returns the name of an operator's node in the model.
    pub fn node(&self, operator: &Operator) -> &str {
        &self.nodes[operator.id.index()]
    }

    /// Returns the file of trials.
    pub fn journal(&self) -> PathBuf {
        self.directory.join("trials.jsonl")
    }

    /// Returns the file of the model.
    pub fn model(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Returns a file for models that are only tried.
    pub fn tried(&self) -> PathBuf {
        self.directory.join(format!("trial.{}", self.name))
    }

    /// Removes that file.
    pub fn remove_tried(&self) {
        for file in [self.tried(), self.tried().with_extension("onnx.data")] {
            // It may not be there.
            let _ = fs::remove_file(file);
        }
    }

    /// Returns the file with the names of the kept nodes.
    pub fn list(&self) -> PathBuf {
        self.directory.join("keep.txt")
    }

    /// Writes the model with these operators kept, and their names, as far as a line can hold them.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written; the one of before is then still there.
    pub fn write(&self, conversion: Conversion<'_>, kept: &HashSet<OperatorId>) -> Result<(), PrecisionError> {
        conversion.write(kept, &self.model())?;
        let operators = self.graph.all_operators().filter(|operator| kept.contains(&operator.id));
        let names = operators.map(|operator| self.node(operator)).filter(|name| is_a_line(name));
        let lines: String = names.map(|name| format!("{name}\n")).collect();
        self.replace(&self.list(), lines.as_bytes())
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn write_report(&self, json: &str) -> Result<(), PrecisionError> {
        self.replace(&self.directory.join("precision.json"), format!("{json}\n").as_bytes())
    }

    fn replace(&self, path: &Path, content: &[u8]) -> Result<(), PrecisionError> {
        replace_whole(path, content).map_err(|source| PrecisionError::Output { path: path.to_owned(), source })
    }
}

/// Returns whether a list can name a node by a line. Who reads it may take any of Unicode's line breaks for the end of a
/// line, as Python's `splitlines` does, and a list of lines has no way to escape one.
pub(super) fn is_a_line(name: &str) -> bool {
    const BREAKS: [char; 10] =
        ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];
    !name.contains(BREAKS)
}
