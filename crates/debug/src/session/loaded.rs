use std::sync::Arc;

use opscope_model::{Capabilities, Fidelity};
use opscope_onnx::Graph;

use super::shared::Shared;
use crate::event::{EventKind, ModelId};

/// A model that was announced to the debugger's client. Dropping the last handle to a model unloads it; the
/// client gets an event.
#[must_use = "dropping the handle unloads the model"]
pub struct LoadedModelHandle {
    shared: Arc<Shared>,
    model: ModelId,
}

impl LoadedModelHandle {
    pub(super) fn new(shared: &Arc<Shared>, graph: &Arc<Graph>, fidelity: Fidelity) -> Self {
        let mut registry = shared.registry();
        let (model, announced) = registry.model(&shared.announcer, graph, fidelity);
        registry.hold(model);
        drop(registry);
        shared.wait_at(announced);
        Self { shared: Arc::clone(shared), model }
    }

    /// Returns this handle to a model whose engine has these capabilities. Without this, an engine has all of them.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        self.shared.registry().set_executes_skipped(self.model, !capabilities.skip);
        self
    }

    /// Returns the model's number.
    pub fn model(&self) -> ModelId {
        self.model
    }
}

impl Drop for LoadedModelHandle {
    fn drop(&mut self) {
        let mut registry = self.shared.registry();
        let announced = match registry.unload(self.model) {
            true => self.shared.announcer.announce(EventKind::ModelUnloaded { model: self.model }),
            false => None,
        };
        drop(registry);
        self.shared.wait_at(announced);
    }
}
