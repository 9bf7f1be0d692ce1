//! The memory of the machine, of its control group, and of this process, in bytes.

use std::fs;
use std::path::Path;

/// The files of a control group, by version: its limit, its usage, and the statistics that tell how much of the usage
/// is reclaimable.
const GROUPS: [[&str; 3]; 2] = [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat"],
    [
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
    ],
];

/// Returns the machine's memory in bytes, or the maximum if it cannot be read.
pub fn of_machine() -> u64 {
    field(&text("/proc/meminfo"), "MemTotal:").unwrap_or(u64::MAX)
}

/// Returns the machine's memory in bytes, or the limit of the control group if it is lower. Returns the maximum if
/// neither can be read.
pub fn limit() -> u64 {
    let group = GROUPS.iter().filter_map(|[most, ..]| number(&text(most))).min();
    of_machine().min(group.unwrap_or(u64::MAX))
}

/// Returns the memory in bytes that this process can still get, limited by the machine, its control group and its own
/// address space. Returns the maximum if none of these can be read.
pub fn available() -> u64 {
    let group = |[most, used, stat]: &[&str; 3]| of_group(&text(most), &text(used), &text(stat));
    let groups = GROUPS.iter().filter_map(group);
    let machine = available_of_machine(&text("/proc/meminfo"));
    let process = of_process(&text("/proc/self/limits"), &text("/proc/self/status"));
    machine.into_iter().chain(process).chain(groups).min().unwrap_or(u64::MAX)
}

/// Returns the memory in bytes that this process uses; 0 if it cannot be read.
pub fn resident() -> u64 {
    field(&text("/proc/self/status"), "VmRSS:").unwrap_or(0)
}

/// Returns the largest memory in bytes that this process has used; 0 if it cannot be read.
pub fn peak() -> u64 {
    field(&text("/proc/self/status"), "VmHWM:").unwrap_or(0)
}

/// Restarts [`peak`] at the memory that this process uses now. If the system cannot do that, `peak` stays the largest
/// memory that the process has ever used.
pub fn reset_peak() {
    // Documented in proc_pid_clear_refs(5): 5 resets the peak of the resident set.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn available_of_machine(meminfo: &str) -> Option<u64> {
    Some(field(meminfo, "MemAvailable:")?.saturating_add(field(meminfo, "SwapFree:").unwrap_or(0)))
}

fn of_group(most: &str, used: &str, stat: &str) -> Option<u64> {
    // Pages of files that were not read for a while are reclaimed first.
    let files = stat.lines().find_map(|line| number(line.strip_prefix("inactive_file ")?)).unwrap_or(0);
    Some(number(most)?.saturating_sub(number(used)?.saturating_sub(files)))
}

fn of_process(limits: &str, status: &str) -> Option<u64> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next());
    Some(number(limit?)?.saturating_sub(field(status, "VmSize:")?))
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Returns the bytes of a line such as `MemTotal:  24576 kB`.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    number(line.split_whitespace().next()?)?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_what_is_available_and_its_swap() {
        let meminfo = "MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:    5 kB\nSwapTotal: 4 kB\nSwapFree:  2 kB\n";
        assert_eq!(available_of_machine(meminfo), Some(7 * 1024));
        assert_eq!(available_of_machine("MemAvailable:    5 kB\n"), Some(5 * 1024));
        assert_eq!(available_of_machine(""), None);
    }

    #[test]
    fn a_control_group_has_the_rest_of_its_limit_and_what_files_give_back() {
        let stat = "anon 7\ninactive_file 200\nactive_file 5\n";
        assert_eq!(of_group("1000\n", "700\n", stat), Some(500));
        assert_eq!(of_group("1000\n", "1700\n", ""), Some(0));
        assert_eq!(of_group("max\n", "700\n", stat), None);
        assert_eq!(of_group("", "", ""), None);
    }

    #[test]
    fn a_process_has_the_rest_of_its_addresses() {
        let limits =
            |most: &str| format!("Max cpu time 1 1 seconds\nMax address space         {most}   8192     bytes\n");
        let status = "VmPeak: 9 kB\nVmSize:    3 kB\n";
        assert_eq!(of_process(&limits("4096"), status), Some(1024));
        assert_eq!(of_process(&limits("1024"), status), Some(0));
        assert_eq!(of_process(&limits("unlimited"), status), None);
    }

    #[test]
    fn this_process_can_get_something_but_not_more_than_there_is() {
        let available = available();
        assert!(available > 1 << 20 && available != u64::MAX, "{available}");
    }
    #[test]
    fn the_peak_of_a_process_covers_what_it_used_and_gave_back() {
        let size = 64 << 20;
        let before = resident();
        // The system counts a page only when it is written.
        drop(std::hint::black_box(vec![1_u8; size]));
        assert!(peak() >= before + size as u64 / 2, "{} after {before}", peak());
    }
}
