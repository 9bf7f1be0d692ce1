use opscope::engine::embedded;

use crate::forks::Shared;

/// Whether the engine has what it keeps for all models.
static IS_PREPARED: Shared<bool> = Shared::new(false, || IS_PREPARED.held(|_| ()));

/// Lets the engine make what it keeps for all models, before the first one is loaded. A fork waits for it: the child has no thread that
/// would finish it.
pub(super) fn prepare_once() {
    let mut is_prepared = IS_PREPARED.lock();
    if !*is_prepared {
        embedded().prepare();
        *is_prepared = true;
    }
}
