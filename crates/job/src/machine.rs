//! Facts about the machine and this process.

use std::fs;

use serde::Serialize;

/// The machine that a measurement was made on.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many processors this process may use.
    pub processors: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Operating system and processor family.
    pub system: String,
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
        Self {
            cpu: name.unwrap_or("unknown").trim().to_owned(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

/// The machine's memory in bytes; `u64::MAX` if the system does not report it.
pub(crate) fn memory() -> u64 {
    kilobytes("/proc/meminfo", "MemTotal:").unwrap_or(u64::MAX)
}

pub use opscope_model::memory_available as available_memory;

/// The peak of this process's resident memory in bytes; 0 if the system does not report it.
pub fn peak_memory() -> u64 {
    kilobytes("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// Resets [`peak_memory`] to what is resident now, if the system can.
pub fn forget_peak_memory() {
    // Documented in proc(5): 5 resets the peak of the resident set. If that fails, the peak is that of the whole process.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let number = text.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?;
    number.parse::<u64>().ok()?.checked_mul(1024)
}
