//! The exit of the process: tools are finalized before their objects are destroyed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_border::system;

/// The function that finalizes the tools. Only its first call at the exit has an effect.
static FINALIZE: OnceLock<extern "C" fn()> = OnceLock::new();

/// Registers a function to be called when the process exits, before the destructors of all objects that exist now.
/// Returns whether the system had memory for that.
pub fn finalize_by(function: extern "C" fn()) -> bool {
    finalize_before_objects(*FINALIZE.get_or_init(|| function))
}

/// Also finalizes the tools before the destructors of all objects that exist now. A process destroys objects in the
/// opposite order of their construction, and calls each registered function as if it were an object constructed at its
/// registration.
pub fn finalize_earlier() {
    if let Some(&function) = FINALIZE.get() {
        // Without memory for this, the tools are finalized at the point that was registered before.
        finalize_before_objects(function);
    }
}

fn finalize_before_objects(function: extern "C" fn()) -> bool {
    system::at_exit(function)
}

/// Notices when a tool's function returns for the first time. Many tools create objects in that call, so the
/// finalization is then registered again.
pub struct FirstCall(AtomicBool);

impl FirstCall {
    /// Returns the state for a function that was not called yet.
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
