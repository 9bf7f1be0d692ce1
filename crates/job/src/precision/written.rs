//! The directory with the results of a search.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use opscope_files::replace_whole;
use opscope_onnx::{Graph, Lowering, ModelFile, Operator, OperatorId};

use super::PrecisionError;
use super::report::short;
use super::trials::lowered;

/// The directory. Each file in it is whole, or not there.
pub(super) struct Output<'a> {
    directory: PathBuf,
    /// The name of the model's file.
    name: String,
    /// The name of each operator's node in the model.
    nodes: Vec<String>,
    graph: &'a Graph,
    lowering: &'a Lowering<'a>,
}

impl<'a> Output<'a> {
    /// Creates the directory if it is not there.
    ///
    /// # Errors
    /// Returns an error if that is not possible.
    pub fn create(directory: &Path, graph: &'a Graph, lowering: &'a Lowering<'a>) -> Result<Self, PrecisionError> {
        let failed = |source| PrecisionError::Output { path: directory.to_owned(), source };
        fs::create_dir_all(directory).map_err(failed)?;
        let stem = graph.source.path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{stem}_{}.onnx", short(lowering.dtype()));
        let nodes = ModelFile::of(graph)?.node_names();
        Ok(Self { directory: directory.to_owned(), name, nodes, graph, lowering })
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

    /// Returns the file with the names of the kept nodes.
    pub fn list(&self) -> PathBuf {
        self.directory.join("keep.txt")
    }

    /// Writes the model with these operators kept, and their names.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written; the one of before is then still there.
    pub fn write(&self, kept: &HashSet<OperatorId>) -> Result<(), PrecisionError> {
        self.lowering.file(&lowered(self.lowering, kept))?.write(&self.model())?;
        let operators = self.graph.all_operators().filter(|operator| kept.contains(&operator.id));
        let names: String = operators.map(|operator| format!("{}\n", self.node(operator))).collect();
        self.replace(&self.list(), names.as_bytes())
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
