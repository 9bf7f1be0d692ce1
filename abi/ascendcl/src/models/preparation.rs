use opscope::engine::embedded;

use crate::forks::Shared;

/// Whether the engine has prepared the state that all models share.
static IS_PREPARED: Shared<bool> = Shared::new(false, || IS_PREPARED.held(|_| ()));

/// Prepares the state of the engine that all models share, before the first model is loaded. A fork waits for this,
/// because the child would not have the thread that finishes it.
pub(super) fn prepare_once() {
    let mut is_prepared = IS_PREPARED.lock();
    if !*is_prepared {
        embedded().prepare();
        *is_prepared = true;
    }
}
