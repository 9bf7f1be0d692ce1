//! The order of calls, and the status that each call returns.

use super::program;

#[test]
fn every_status_is_answered_by_the_call_that_causes_it() {
    let printed = program("statuses.c").run();
    let line = "librocprofiler64 (opscope): a buffer cannot be created: a buffer cannot hold 18446744073709551615 bytes; \
                the largest size is 64 GiB\n";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", line));
}

#[test]
fn tools_flush_before_and_after_the_end_of_a_session_and_sessions_outlive_the_librarys_use() {
    program("order.c").run_silently();
}

#[test]
fn a_tool_may_end_in_its_destructor_after_the_exit_has_delivered() {
    program("exit.c").run_silently();
}

#[test]
fn the_child_of_a_fork_works_and_the_parent_keeps_its_records() {
    program("fork.c").run_silently();
}
