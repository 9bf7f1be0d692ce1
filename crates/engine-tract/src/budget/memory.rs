//! The memory of this process.

use std::fs;

/// Returns the memory that this process uses, in bytes; 0 if it cannot be read.
pub(crate) fn of_this_process() -> u64 {
    kibibytes("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// Returns the bytes of a line such as `MemTotal:  24576 kB`.
fn kibibytes(file: &str, field: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}
