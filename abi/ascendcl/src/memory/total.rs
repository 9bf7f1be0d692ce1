use std::sync::OnceLock;

use opscope_border::system;

/// Returns the size of the machine's memory in bytes, which is the device's.
pub fn device_memory() -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    *MEMORY.get_or_init(|| usize::try_from(system::memory()).unwrap_or(usize::MAX))
}
