use std::path::PathBuf;

use opscope_onnx::PatternError;

/// What can be wrong with a dump.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// A file or directory could not be made or read.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What was tried, and what the system said.
        reason: String,
    },
    /// A pattern for names.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A list of runs.
    #[error("'{text}' is no list of runs: {reason}. Right is, for example, 0|5-10|20")]
    Runs {
        /// As it was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A name that the model does not have.
    #[error("the model has no operator '{name}', which the selection names{}", there_is(.nearest))]
    NoSuchOperator {
        /// The name.
        name: String,
        /// The name in the model that is most like it.
        nearest: Option<String>,
    },
    /// A selection that means no tensor of the model.
    #[error("the selection matches nothing: it leaves out every tensor of the model's {operators} operators")]
    NothingSelected {
        /// How many operators the model has.
        operators: usize,
    },
    /// A selection that means no run.
    #[error("the selection matches nothing: there are {runs} runs, counted from 0, and it names none of them")]
    NoSuchRun {
        /// How many runs there are.
        runs: u64,
    },
    /// A place such as `input0` of a blacklist.
    #[error("'{0}' is no place of an operator; right is, for example, input0 or output1")]
    Position(String),
    /// A table of comma-separated values.
    #[error("row {row} of the table is wrong: {reason}")]
    Table {
        /// Which row, from 1.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Something was called from inside of a sink that waits for that sink.
    #[error("this would wait for the sink that calls it; call it from another thread")]
    FromWithin,
    /// A weight of the model's file.
    #[error("a weight of the model could not be read: {0}")]
    Weight(#[from] opscope_onnx::OnnxError),
    /// The values that were computed at load could not be delivered.
    #[error("the values that the engine computed when it loaded the model could not be read: {0}")]
    Constants(std::io::Error),
    /// The system gave no thread.
    #[error("no thread could be started for the sink: {0}")]
    Thread(std::io::Error),
}

fn there_is(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; there is '{name}'")).unwrap_or_default()
}
