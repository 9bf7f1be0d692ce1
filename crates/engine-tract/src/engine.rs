use std::sync::Arc;

use opscope_model::{Capabilities, Engine, EngineError, LoadOptions, Model};
use opscope_onnx::Graph;
use tract_onnx::prelude::Framework;
use tract_onnx::tract_core::internal::TractResult;
use tract_onnx::{Onnx, pb};

use crate::model::TractModel;
use crate::{guard, names};

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
        let framework = tract_onnx::onnx();
        check_operators(&graph, &framework)?;
        let proto = guard::load(&graph, || renamed(&graph, &framework))?;
        Ok(Arc::new(TractModel::new(graph, framework, proto, options)))
    }
}

/// The file's messages, with every node of the main graph under the name that leads back to its operator.
fn renamed(graph: &Graph, framework: &Onnx) -> TractResult<pb::ModelProto> {
    let mut proto = framework.proto_model_for_read(&mut &graph.source.bytes[..])?;
    let nodes = proto.graph.iter_mut().flat_map(|graph| &mut graph.node);
    let mut operator_at = vec![None; graph.operators.len()];
    for operator in &graph.operators {
        operator_at[operator.position] = Some(operator.id);
    }
    for (node, operator) in nodes.zip(operator_at.into_iter().flatten()) {
        node.name = names::encode(operator);
    }
    Ok(proto)
}

fn check_operators(graph: &Graph, framework: &Onnx) -> Result<(), EngineError> {
    let unknown = graph.operators.iter().find(|operator| !framework.op_register.0.contains_key(&operator.op_type));
    match unknown {
        None => Ok(()),
        Some(operator) => Err(EngineError::UnsupportedOperator {
            node: operator.name.clone(),
            op_type: match operator.domain.as_str() {
                "" => operator.op_type.clone(),
                domain => format!("{domain}.{}", operator.op_type),
            },
        }),
    }
}
