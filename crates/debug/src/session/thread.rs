use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that has a debugger. In a forked child, the cached numbers of threads are wrong.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The number of this thread, and the process in which it was cached.
    static KNOWN: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

/// Notes that this process has a debugger.
pub(super) fn note_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// Returns the system's number of the calling thread. It is cached, because the system call would be the most expensive
/// part of a run without a client.
pub(super) fn thread() -> u32 {
    let process = PROCESS.load(Ordering::Relaxed);
    let (number, known_in) = KNOWN.get();
    if known_in == process && number != 0 {
        return number;
    }
    let number = opscope_sys::thread_id();
    KNOWN.set((number, process));
    number
}
