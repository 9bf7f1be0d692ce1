//! Errors of the library, in the file's words.

use opscope_model::EngineError;
use opscope_onnx::Graph;

use crate::names;

/// Returns the error for a model that the library does not load, with the file's names in it.
pub(crate) fn load_error(message: &str, graph: &Graph) -> EngineError {
    EngineError::Load { node: node_of(message, graph), reason: names::restore(message, graph) }
}

/// Returns the error for a run that failed. The library writes the node in front of the reason, where the error has it anyway; `node`
/// is where the run was if the library does not say.
pub(crate) fn run_error(message: &str, node: Option<String>, graph: &Graph) -> EngineError {
    let reason = message.split_once("Status Message: ").map_or(message, |(_, reason)| reason).trim_end();
    EngineError::Run { node: node_of(message, graph).or(node), reason: names::restore(reason, graph) }
}

fn node_of(message: &str, graph: &Graph) -> Option<String> {
    let id = names::operator(message)?;
    let known = id.index() < graph.operators.len() + graph.inner_operators.len();
    known.then(|| graph.operator(id).name.clone())
}
