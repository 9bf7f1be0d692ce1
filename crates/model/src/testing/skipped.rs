use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Says that the running test, or a part of it, is skipped. The line is printed also where the test passes, whose output is not
/// shown otherwise, and counts: `skipped 2 in this program: NAME: WHY`.
pub fn skipped(why: impl Display) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Without the macro, whose output the test harness keeps to itself. A closed stderr skips the line, too.
    let _ = writeln!(std::io::stderr(), "skipped {count} in this program: {test}: {why}");
}
