use std::sync::Arc;

use opscope_model::{Capabilities, Engine, EngineError, LoadOptions, Model};
use opscope_onnx::Graph;

use crate::model::TractModel;
use crate::rewrite::rewritten;
use crate::{guard, operators, support};

/// tract.
#[derive(Debug, Clone, Copy, Default)]
pub struct TractEngine;

/// The version of tract that this crate is built with; the workspace pins it.
const VERSION: &str = "0.23.9";

impl Engine for TractEngine {
    fn name(&self) -> &str {
        "tract"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stop: true, intermediates: true, times: true, names: true }
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        let framework = operators::framework(options.fidelity);
        let proto = guard::load(&graph, || rewritten(&graph, &framework))?;
        support::check(&graph, &framework, &proto)?;
        Ok(Arc::new(TractModel::new(graph, framework, proto, options)))
    }
}
