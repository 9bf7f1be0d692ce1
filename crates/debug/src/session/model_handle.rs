use std::sync::Arc;

use opscope_model::{Capabilities, DeviceTensors, Fidelity};
use opscope_onnx::Graph;

use super::shared::Shared;
use crate::event::{EventKind, ModelId};

/// A handle to a model that was announced to the debugger's client. Dropping the last handle unloads the model, and the
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

    /// Sets the capabilities of the model's engine. By default it has all of them.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        self.shared.registry().set_executes_skipped(self.model, !capabilities.skip);
        self
    }

    /// Keeps the outputs of a run that has ended, in place of those of an earlier run. Clients can read them until the
    /// next run ends.
    pub fn keep_outputs(&self, outputs: Arc<dyn DeviceTensors>) {
        let earlier = self.shared.registry().keep_outputs(self.model, outputs);
        // The memory is freed outside of the registry's lock.
        drop(earlier);
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
