use opscope_onnx::SourceLine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::EvaluationError;

/// A program that knows more of itself than its models: its own code, and what may be attached to it.
pub trait Host: Send + Sync {
    /// A client has attached, or the one that was attached is no longer. This is called on the thread that noticed it,
    /// which has other work: it must not wait for anything.
    fn attached(&self, is_attached: bool);

    /// The client wants something of the program's runs now, and may have wanted nothing before: see
    /// [`Debugger::is_interested`](super::Debugger::is_interested). The same holds for the thread.
    fn interested(&self) {}

    /// A client asks the program to attach an instrument to itself, such as a dump. What it wants is for the two of them
    /// to agree on. The same holds for the thread. Returns whether the program does this.
    fn instrument(&self, wanted: &Value) -> bool;

    /// Returns the calls in the program's own code that led to where the calling thread is stopped, innermost first.
    fn frames(&self) -> Vec<CodeFrame> {
        Vec::new()
    }

    /// Evaluates an expression in the innermost of these calls, and returns the result as the program's language writes
    /// it.
    ///
    /// # Errors
    /// Returns the reason if the program evaluates none, or this one fails.
    fn evaluate(&self, _expression: &str) -> Result<String, EvaluationError> {
        Err(EvaluationError::default())
    }
}

/// A call in a program's own code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFrame {
    /// The function that was called.
    pub function: String,
    /// The line that it executes.
    pub source: SourceLine,
}
