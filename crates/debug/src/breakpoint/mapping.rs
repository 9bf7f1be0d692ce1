use serde::{Deserialize, Serialize};

/// How an operator of the file maps to the kernels of an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum OperatorMapping {
    /// A kernel of its own.
    Kernel {
        /// The kernel's index in the plan.
        kernel: u32,
    },
    /// A part of a kernel that counts for another operator.
    Fused {
        /// The kernel's index in the plan.
        kernel: u32,
        /// The operator that the kernel counts for.
        into: String,
        /// Whether the engine states this; if not, it was inferred from the graph.
        exact: bool,
    },
    /// No kernel is executed for it: it was computed when the model was loaded, or its result is not needed.
    Removed,
    /// The engine has made no plan yet. It makes one for the first run.
    Pending,
}
