use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use opscope_border::exported;

use super::model::{Model, ModelId};
use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::{dump, recordings};

/// The loaded models. The child of a fork has none, because a run on another thread of the parent would never end in
/// the child. For the same reason, the child does not drop them.
static MODELS: Shared<BTreeMap<ModelId, Arc<Model>>> =
    Shared::new(BTreeMap::new(), || MODELS.held(|models| std::mem::forget(std::mem::take(models))));
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Returns the number of the next model.
pub(super) fn next_id() -> ModelId {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Adds a model.
pub(super) fn add(model: Model) {
    MODELS.lock().insert(model.id, Arc::new(model));
}

/// Returns a model that is loaded.
pub fn find(id: ModelId) -> Result<Arc<Model>, Failure> {
    MODELS.read().get(&id).cloned().ok_or_else(|| missing(id))
}

/// Unloads a model, after the run in progress has ended. Runs that are queued in streams still take place.
#[exported]
pub fn aclmdlUnload(model_id: u32) -> Result<(), Failure> {
    let removed = MODELS.lock().remove(&model_id);
    removed.ok_or_else(|| missing(model_id))?.wait();
    dump::unloaded(model_id);
    recordings::unloaded(model_id);
    Ok(())
}

fn missing(id: ModelId) -> Failure {
    let code = codes::GE_EXEC_MODEL_ID_INVALID;
    Failure::wrong_value_of(code, "modelId", id, "no such model is loaded, or it was unloaded")
}
