use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::consumers::attach;

/// The name by which consumers know a program that uses this library.
const PROGRAM: &CStr = c"libascendcl";

/// Attaches libraries that receive what the program runs, before the first model is loaded.
pub(super) fn attach_once() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    // No lock: a consumer may itself load a model while it is attached. One that comes late learns of models with their next run.
    if !BEGUN.swap(true, Ordering::AcqRel) {
        drop(attach(PROGRAM));
    }
}
