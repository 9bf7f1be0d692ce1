//! The number of the calling thread in the operating system.

use opscope_trace::current_thread;

/// Returns the number of the calling thread in the operating system.
#[inline]
pub fn current() -> u32 {
    current_thread().0
}
