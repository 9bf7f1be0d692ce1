//! Devices, contexts, streams, events, callbacks and memory. Each program checks itself.

use opscope_c_programs::{Printed, Program, models};

use super::program;

#[track_caller]
fn passes(program: Program) {
    assert_eq!(program.run(), Printed { stdout: "passed\n".to_owned(), stderr: String::new() });
}

#[test]
fn contexts_are_current_in_a_thread_and_counted_by_device() {
    passes(program("contexts.c"));
}

#[test]
fn memory_is_allocated_copied_filled_and_freed() {
    passes(program("memory.c"));
}

#[test]
fn streams_do_their_work_in_order() {
    passes(program("streams.c"));
}

#[test]
fn a_stream_stops_when_work_fails_or_continues_as_its_mode_says() {
    passes(program("failure_mode.c").argument("digits_cnn.onnx").inside(models()));
}

#[test]
fn events_order_streams_and_tell_the_time() {
    passes(program("events.c"));
}

#[test]
fn callbacks_run_where_they_should() {
    passes(program("callbacks.c"));
}

#[test]
fn the_child_of_a_fork_begins_anew() {
    passes(program("forks.c"));
}

#[test]
fn versions_names_and_attributes_are_answered() {
    passes(program("information.c").with("OPSCOPE_SOC_NAME", "Ascend910B3"));
}

#[test]
fn what_is_not_supported_says_so() {
    passes(program("unsupported_runtime.c"));
}

#[test]
fn programs_log_to_standard_error_if_that_is_wanted() {
    let printed = program("log.c").with("OPSCOPE_ACL_LOG", "warning").run();
    let lines: Vec<&str> = printed.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{printed:?}");
    assert!(lines[0].starts_with("warning: ") && lines[0].ends_with(" main: third 3"), "{printed:?}");
    assert_eq!(lines[1], "error: here.c:7 there: fourth 4 and 2.500 of x");
    let values = "1 2 3 4 5 six 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 7";
    assert_eq!(lines[2], format!("error: here.c:8 there: {values}"));
    assert_eq!(program("log.c").run().stderr, "");
}

#[test]
fn dumps_of_single_operators_and_of_exceptions_are_checked_and_write_nothing() {
    passes(program("unsupported_dump.c"));
}
