use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Reports that the running test, or a part of it, is skipped. The line is printed even if the test passes, whose
/// output is usually not shown, and includes a count: `skipped 2 in this program: NAME: WHY`.
pub fn skipped(why: impl Display) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // The macro `eprintln!` is not used, because the test harness captures its output. An error of a closed stderr is
    // ignored.
    let _ = writeln!(std::io::stderr(), "skipped {count} in this program: {test}: {why}");
}
