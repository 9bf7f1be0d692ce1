//! The functions, without a profiler.

use super::{OLDER, SDK, program};

#[test]
fn every_function_works_without_a_profiler() {
    for library in [SDK, OLDER] {
        let printed = program("functions.c", library).run();
        assert_eq!(printed.stderr, "", "{library}");
    }
}

#[test]
fn calls_of_signal_handlers_change_nothing_of_those_that_they_interrupt() {
    for library in [SDK, OLDER] {
        let printed = program("signals.c", library).run();
        assert_eq!(printed.stderr, "", "{library}");
    }
}
