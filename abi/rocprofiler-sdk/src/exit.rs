//! The exit of the process: tools are finalized before the destructors of their objects.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::system;

/// What finalizes the tools. Only its first call at the exit does something.
static FINALIZE: OnceLock<extern "C" fn()> = OnceLock::new();

/// Lets a function be called when the process exits, before the destructors of all objects that exist now. Returns whether the system
/// had memory for that.
pub fn finalize_by(function: extern "C" fn()) -> bool {
    finalize_before_objects(*FINALIZE.get_or_init(|| function))
}

/// Lets the tools be finalized before the destructors of all objects that exist now, too: a process destroys in the opposite order of
/// construction, and calls functions among them as if they had been constructed when they were registered.
pub fn finalize_earlier() {
    if let Some(&function) = FINALIZE.get() {
        // Without memory for it, the tools are finalized where they were registered before.
        finalize_before_objects(function);
    }
}

fn finalize_before_objects(function: extern "C" fn()) -> bool {
    system::at_exit(function)
}

/// The first call of a tool's function, if it has not come yet. Many make objects in it.
pub struct FirstCall(AtomicBool);

impl FirstCall {
    /// Returns that of a function that was not called yet.
    pub const fn pending() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Notes that the function has returned.
    #[inline]
    pub fn has_returned(&self) {
        if self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::Relaxed) {
            finalize_earlier();
        }
    }
}
