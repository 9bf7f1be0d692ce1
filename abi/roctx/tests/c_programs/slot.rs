//! The slot of roctracer's library for a callback.

use super::{OLDER, program};

const PRINTED: &str = "\
called 6 0 mark 0
called 6 0 - 0
called 6 1 push 0
0
called 6 2 - 0
0
called 6 2 - 0
-1
called 6 3 start 1
1
called 6 4 - 1
push at level 0
push at level 1
pop at level 2
";

#[test]
fn the_callback_is_called_before_the_level_changes() {
    let printed = program("slot.c", OLDER).run();
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), (PRINTED, ""));
}

#[test]
fn the_callback_is_called_once_whether_a_profiler_wraps_or_not() {
    let program = program("slot.c", OLDER).beside("profiler.c", "profiler.so", &[]);
    let printed = program.with("ROCPROFILER_REGISTER_LIBRARY", "{directory}/profiler.so").run();
    let registered = printed.stdout.lines().filter(|line| line.starts_with("registered ")).count();
    let unwrapped = |line: &&str| !line.starts_with("registered ") && !line.starts_with("wrapped ");
    let left: Vec<&str> = printed.stdout.lines().filter(unwrapped).collect();
    assert_eq!((registered, left), (1, PRINTED.lines().collect()), "{}", printed.stdout);
    let wrapped = printed.stdout.lines().filter(|line| line.starts_with("wrapped mark ")).count();
    assert_eq!(wrapped, 4, "{}", printed.stdout);
}
