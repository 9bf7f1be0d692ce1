pub(crate) mod model;
mod tables;

use std::sync::Arc;

use opscope_model::{Capabilities, Engine, EngineError, Fidelity, LoadOptions, Model, PlanForm};
use opscope_onnx::Graph;

use crate::budget::Budget;
use crate::budget::guard;
use crate::checks::support;
use crate::operators;
use crate::optimise::Form;
use crate::rewrite::rewritten;
use model::TractModel;

/// The engine tract.
#[derive(Debug, Clone, Copy, Default)]
pub struct TractEngine;

/// The version of tract that this crate is built with, which the workspace pins.
const VERSION: &str = "0.23.9";

impl Engine for TractEngine {
    fn name(&self) -> &str {
        "tract"
    }

    fn version(&self) -> &str {
        VERSION
    }

    fn capabilities(&self, _fidelity: Fidelity) -> Capabilities {
        Capabilities { stop: true, intermediates: true, times: true, names: true, memory: true, skip: true }
    }

    fn forms(&self) -> Vec<PlanForm> {
        Form::ALL.iter().map(|form| form.name()).collect()
    }

    fn prepare(&self) {
        tables::prepare();
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        let form = options.form.as_ref().map_or(Ok(Form::Full), Form::named)?;
        let framework =
            operators::framework(options.fidelity).with_ignore_value_info(true).with_ignore_output_shapes(true);
        let framework = Arc::new(framework);
        let proto = {
            let (graph, framework) = (Arc::clone(&graph), Arc::clone(&framework));
            let budget = Budget::of(&graph, &[], options.budget);
            budget.check_operators(graph.operators.len())?;
            budget.spend(&Arc::clone(&graph), move || {
                let proto = guard::load(&graph, || rewritten(&graph, &framework))?;
                support::check(&graph, &framework, &proto)?;
                Ok(proto)
            })?
        };
        Ok(Arc::new(TractModel::new(graph, framework, proto, options, form)))
    }
}
