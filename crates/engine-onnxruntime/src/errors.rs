//! Errors of the library, with the file's names.
//!
//! The reasons that the library, or code that prepares something for it, gives for not doing what was requested.

use std::fmt;

use opscope_model::EngineError;
use opscope_onnx::{Graph, Operator};

use crate::names;

/// Returns the error for a model that the library refuses to load, with the file's names in it.
pub(crate) fn load_error(message: &str, graph: &Graph) -> EngineError {
    if let Some(operator) = unregistered(message, graph) {
        let op_type = format!("{}.{}", operator.domain, operator.op_type);
        return EngineError::UnsupportedOperator { node: operator.name.clone(), op_type };
    }
    EngineError::Load { node: node_of(message, graph), reason: names::restore(message, graph) }
}

/// Returns the error for a run that failed. The library's message begins with the node, which is removed because the
/// error names it anyway. `node` is used if the library names none.
pub(crate) fn run_error(message: &str, node: Option<String>, graph: &Graph) -> EngineError {
    let reason = message.split_once("Status Message: ").map_or(message, |(_, reason)| reason).trim_end();
    let (node, reason) = (node_of(message, graph).or(node), names::restore(reason, graph));
    match OUT_OF_RANGE.iter().any(|words| reason.contains(words)) {
        true => EngineError::Index { node, reason },
        false => EngineError::Run { node, reason },
    }
}

/// The library's messages for an index that is out of range: in `Gather` and `ScatterElements`, in `GatherElements` of
/// earlier and of later versions, in `GatherND`, and in `ScatterND`. Its error code is the same for every wrong
/// argument.
const OUT_OF_RANGE: [&str; 5] = [
    "element out of data bounds",
    "indices must be within bounds",
    "Out of range value in index tensor",
    "invalid index found",
    "invalid indice found",
];

/// Returns the first operator of a domain that the library does not have. Its message is `domain:type(version) is not a
/// registered function/op`, without a node.
fn unregistered<'a>(message: &str, graph: &'a Graph) -> Option<&'a Operator> {
    let (before, _) = message.split_once(" is not a registered function/op")?;
    let (name, _version) = before.rsplit_once('(')?;
    let is_named = |operator: &&Operator| {
        let rest = name.strip_suffix(operator.op_type.as_str()).and_then(|rest| rest.strip_suffix(':'));
        !operator.domain.is_empty() && rest.is_some_and(|rest| rest.ends_with(operator.domain.as_str()))
    };
    graph.all_operators().find(is_named)
}

fn node_of(message: &str, graph: &Graph) -> Option<String> {
    let id = names::operator(message)?;
    let known = id.index() < graph.operators.len() + graph.inner_operators.len();
    known.then(|| graph.operator(id).name.clone())
}

/// A reason: part of a sentence, for the error of the model or of the run that it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal(String);

impl Refusal {
    /// Returns it as text.
    pub fn reason(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        refusal.0
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;

    use super::*;

    #[test]
    fn an_index_out_of_range_is_an_error_of_its_own() {
        let graph = GraphBuilder::new("looked up").input("x", &[3]).operator("pick", "Gather", &["x"], &["y"]).build();
        for words in [
            "indices element out of data bounds, idx=7 must be within the inclusive range [-3,2]",
            "GatherElements op: Value in indices must be within bounds [-3 , 2]. Actual value is 7",
            "GatherElements op: Out of range value in index tensor",
            "invalid index found, index = 7",
            "invalid indice found, indice = 7",
        ] {
            let message = format!("Non-zero status code. Name:'opscope:0' Status Message: {words}");
            match run_error(&message, None, &graph) {
                EngineError::Index { node, reason } => {
                    assert_eq!((node.as_deref(), reason.as_str()), (Some("pick"), words))
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(matches!(run_error("Status Message: no memory", None, &graph), EngineError::Run { .. }));
    }
}
