//! The engine that runs a model which the embedded engine refuses.

use std::ffi::OsString;
use std::path::Path;

use opscope::engine::{EngineName, EngineSpec, Library, LibraryError};
use opscope::model::EngineError;
use opscope::onnx::Graph;

use super::question::ask;
use crate::exit::Failure;

/// If the embedded engine refused the model, adds to the failure which engine would run it. `inputs` are the options
/// that gave the model its inputs.
pub fn with_hint(
    failure: Failure,
    error: Option<&EngineError>,
    engine: &EngineSpec,
    model: &Path,
    inputs: &[String],
) -> Failure {
    let Some(error) = error.filter(|_| engine.name == EngineName::Tract) else { return failure };
    match error {
        EngineError::UnsupportedOperator { .. } | EngineError::Load { .. } | EngineError::Panic { .. } => {}
        _ => return failure,
    }
    match Library::locate(None) {
        Ok(_) => match runs(model, inputs) {
            Some(version) => failure.with_hint(format!("ONNX Runtime {version} runs it: --engine onnxruntime")),
            None => failure,
        },
        Err(LibraryError::NotFound { .. })
            if matches!(error, EngineError::UnsupportedOperator { .. }) && has_only_onnx_operators(model) =>
        {
            failure.with_hint("ONNX Runtime may run it: `pip install onnxruntime`, then --engine onnxruntime")
        }
        _ => failure,
    }
}

/// Returns the version of ONNX Runtime if that runs the model.
fn runs(model: &Path, inputs: &[String]) -> Option<String> {
    let words = ["attempt".to_owned(), "--engine=onnxruntime".to_owned(), format!("--parent={}", std::process::id())];
    let words = words.into_iter().chain(inputs.iter().cloned()).chain(["--".to_owned()]).map(OsString::from);
    ask(words.chain([model.into()])).ok().map(|version| version.trim().to_owned())
}

fn has_only_onnx_operators(model: &Path) -> bool {
    let is_onnx = |graph: Graph| {
        let operators = graph.operators.iter().chain(&graph.inner_operators);
        operators.into_iter().all(|operator| operator.domain.is_empty())
    };
    Graph::load(model).is_ok_and(is_onnx)
}
