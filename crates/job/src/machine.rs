//! Facts about the machine.

use std::fs;

use opscope_sys::memory;
use serde::Serialize;

/// The machine that a measurement was made on.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The memory in bytes.
    pub memory_bytes: u64,
    /// Operating system and processor family.
    pub system: String,
}

impl Machine {
    /// Returns this machine.
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name =
            cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name));
        Self {
            cpu: name.unwrap_or("unknown").trim().to_owned(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: memory::of_machine(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}
