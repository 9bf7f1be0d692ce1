use std::sync::Arc;

use opscope_model::Fidelity;
use opscope_onnx::Graph;

use super::Shared;
use crate::{EventKind, ModelId};

/// A model that a client of the debugger was told of. When the last handle to it goes, the client is told that the model
/// is gone.
#[must_use = "the model counts as unloaded when this goes"]
pub struct LoadedModelHandle {
    shared: Arc<Shared>,
    model: ModelId,
}

impl LoadedModelHandle {
    pub(super) fn new(shared: &Arc<Shared>, graph: &Arc<Graph>, fidelity: Fidelity) -> Self {
        let mut control = shared.control();
        let (model, told) = control.model(shared, graph, fidelity);
        control.hold(model);
        drop(control);
        shared.wait_at(told);
        Self { shared: Arc::clone(shared), model }
    }

    /// The model's number.
    pub fn model(&self) -> ModelId {
        self.model
    }
}

impl Drop for LoadedModelHandle {
    fn drop(&mut self) {
        let mut control = self.shared.control();
        let is_gone = control.unload(self.model);
        let told = is_gone.then(|| self.shared.announce(EventKind::ModelUnloaded { model: self.model })).flatten();
        drop(control);
        self.shared.wait_at(told);
    }
}
