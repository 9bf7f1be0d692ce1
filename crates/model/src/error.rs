use opscope_tensor::DType;

/// Why an engine did not load or run a model.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// An operator that the engine does not have.
    #[error("the engine has no operator {op_type}, which node '{node}' needs")]
    UnsupportedOperator {
        /// The node's name in the file.
        node: String,
        /// The operator's type, with its domain where that is not ONNX's own.
        op_type: String,
    },
    /// The number of inputs.
    #[error("the model takes {expected} inputs ({names}), {found} were given")]
    InputCount {
        /// How many it takes.
        expected: usize,
        /// Their names.
        names: String,
        /// How many were given.
        found: usize,
    },
    /// The element type of an input.
    #[error("input '{name}' takes {expected}, {found} was given")]
    InputType {
        /// The input's name.
        name: String,
        /// What it takes.
        expected: DType,
        /// What it got.
        found: DType,
    },
    /// The shape of an input.
    #[error("input '{name}' has shape [{expected}], {found:?} was given")]
    InputShape {
        /// The input's name.
        name: String,
        /// Its shape, with symbolic dimensions.
        expected: String,
        /// What it got.
        found: Vec<usize>,
    },
    /// The engine could not prepare the model.
    #[error("the engine could not load the model{}: {reason}", at(.node))]
    Load {
        /// The node it stopped at, where it is known.
        node: Option<String>,
        /// What it said.
        reason: String,
    },
    /// Loading took more time or memory than a [`LoadBudget`](crate::LoadBudget) allows.
    #[error("loading the model was ended{}: {reason}", at(.node))]
    OverBudget {
        /// The node it was at, where it is known.
        node: Option<String>,
        /// What it took too much of.
        reason: String,
    },
    /// The engine failed in a run.
    #[error("the run failed{}: {reason}", at(.node))]
    Run {
        /// The node it stopped at, where it is known.
        node: Option<String>,
        /// What it said.
        reason: String,
    },
    /// The engine panicked.
    #[error("the engine broke off{}: {reason}", at(.node))]
    Panic {
        /// The node it stopped at, where it is known.
        node: Option<String>,
        /// The panic's message.
        reason: String,
    },
    /// An observer stopped the run.
    #[error("the run was stopped: {0}")]
    Stopped(String),
}

fn at(node: &Option<String>) -> String {
    node.as_ref().map(|node| format!(" at node '{node}'")).unwrap_or_default()
}
