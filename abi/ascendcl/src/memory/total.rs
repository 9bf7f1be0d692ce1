use std::sync::OnceLock;

/// Returns the bytes of the machine's memory, which is the device's.
pub fn device_memory() -> usize {
    static MEMORY: OnceLock<usize> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        // SAFETY: it has no conditions.
        let [pages, page] = [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
        let [pages, page] = [pages, page].map(|number| usize::try_from(number).unwrap_or(0));
        pages.saturating_mul(page)
    })
}
