use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;

/// The name by which consumers know programs that use this library.
const PROGRAM: &CStr = c"libascendcl";

/// Attaches libraries that receive what the program runs, before the first model is loaded.
pub(super) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // Takes no lock, because a consumer may itself load a model while it is attached. A consumer that comes late learns
    // of the models at their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
