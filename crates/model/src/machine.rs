use std::fs;

/// Returns the machine's memory in bytes, or the control group's share of it. Without a limit where neither can be
/// read.
pub fn memory_of_machine() -> u64 {
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    total().unwrap_or(u64::MAX).min(group.unwrap_or(u64::MAX))
}

/// Returns the bytes of a line such as `MemTotal:  24576 kB`.
fn total() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok()?.checked_mul(1024)
}
