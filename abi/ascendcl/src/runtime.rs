//! The end of all work.

use crate::contexts::wait_for_all;

/// Waits until the work of all streams is done, whether it fails or not. A callback that no thread takes within a second is given up.
/// In a callback it does not wait.
#[expect(dead_code, reason = "aclFinalize uses it")]
pub fn shutdown() {
    // It fails only in a callback, which would wait for itself.
    let _ = wait_for_all();
}
