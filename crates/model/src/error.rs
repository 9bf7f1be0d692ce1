use opscope_tensor::DType;

use crate::MissingCapability;

/// Why an engine did not load or run a model.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine does not have an operator.
    #[error("the engine has no operator {op_type}, which node '{node}' needs")]
    UnsupportedOperator {
        /// The node's name in the file.
        node: String,
        /// The operator's type, with its domain unless that is ONNX's own.
        op_type: String,
    },
    /// The number of inputs does not fit the model.
    #[error("the model takes {expected} inputs ({names}), {found} were given")]
    InputCount {
        /// How many inputs the model takes.
        expected: usize,
        /// Their names.
        names: String,
        /// How many were given.
        found: usize,
    },
    /// The element type of an input does not fit the model.
    #[error("input '{name}' takes {expected}, {found} was given")]
    InputType {
        /// The input's name.
        name: String,
        /// The type that the model takes.
        expected: DType,
        /// The type that was given.
        found: DType,
    },
    /// The shape of an input does not fit the model.
    #[error("input '{name}' has shape [{expected}], {found:?} was given")]
    InputShape {
        /// The input's name.
        name: String,
        /// The shape that the model takes, with symbolic dimensions.
        expected: String,
        /// The shape that was given.
        found: Vec<usize>,
    },
    /// The engine could not prepare the model.
    #[error("the engine could not load the model{}: {reason}", at(.node))]
    Load {
        /// The node at which loading failed, if it is known.
        node: Option<String>,
        /// The engine's reason.
        reason: String,
    },
    /// Loading took more time or memory than a [`LoadBudget`](crate::LoadBudget) allows.
    #[error("loading the model was stopped{}: {reason}", at(.node))]
    OverBudget {
        /// The node at which loading was stopped, if it is known.
        node: Option<String>,
        /// What exceeded the budget.
        reason: String,
    },
    /// A run needs more memory for its tensors than this process can get.
    #[error(
        "a run needs {} MiB of memory for its tensors{}, and {} MiB are available", needed.div_ceil(1 << 20), at(.node), available >> 20
    )]
    Memory {
        /// The node that is executed when the most is needed, if it is known.
        node: Option<String>,
        /// The bytes that are needed.
        needed: u64,
        /// The bytes that are available.
        available: u64,
    },
    /// The engine failed in a run.
    #[error("the run failed{}: {reason}", at(.node))]
    Run {
        /// The node at which the run failed, if it is known.
        node: Option<String>,
        /// The engine's reason.
        reason: String,
    },
    /// An operator got an index that is out of range, because of the data of the inputs.
    #[error("the run failed{}: {reason}", at(.node))]
    Index {
        /// The operator that takes the index, or the one in whose body it is, if it is known.
        node: Option<String>,
        /// The index, what would be right, and the inputs that it comes from.
        reason: String,
    },
    /// The engine panicked.
    #[error("the engine panicked{}: {reason}", at(.node))]
    Panic {
        /// The node at which the engine panicked, if it is known.
        node: Option<String>,
        /// The panic's message.
        reason: String,
    },
    /// An instrument needs more than the engine can do.
    #[error(transparent)]
    Capability(#[from] Box<MissingCapability>),
    /// An observer stopped the run.
    #[error("the run was stopped: {0}")]
    Stopped(String),
}

fn at(node: &Option<String>) -> String {
    node.as_ref().map(|node| format!(" at node '{node}'")).unwrap_or_default()
}
