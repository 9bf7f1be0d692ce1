use opscope::engine::embedded;

use crate::forks::Shared;

/// Whether the engine has prepared what it keeps for all models.
static IS_PREPARED: Shared<bool> = Shared::new(false, || IS_PREPARED.held(|_| ()));

/// Lets the engine prepare what it keeps for all models, before the first one is loaded. A fork waits for that, because
/// the child would have no thread to finish it.
pub(super) fn prepare_once() {
    let mut is_prepared = IS_PREPARED.lock();
    if !*is_prepared {
        embedded().prepare();
        *is_prepared = true;
    }
}
