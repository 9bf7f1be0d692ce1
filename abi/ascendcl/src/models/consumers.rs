use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;

/// The name by which consumers know programs that use this library.
const PROGRAM: &CStr = c"libascendcl";

/// Attaches the consumers, before the first model is loaded.
pub(super) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // Takes no lock, because a consumer may itself load a model while it is attached. Models that are loaded meanwhile
    // are announced to consumers at their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
