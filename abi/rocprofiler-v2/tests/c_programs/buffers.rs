//! When buffers are delivered, and what their callbacks may do.

use super::program;

#[test]
fn records_arrive_by_themselves_at_the_interval() {
    program("interval.c").run_silently();
}

#[test]
fn each_property_of_a_buffer_is_read_and_only_they_set_an_interval() {
    program("properties.c").run_silently();
}

#[test]
fn a_callback_may_flush_emit_end_and_destroy() {
    program("inside.c").run_silently();
}

#[test]
fn what_callbacks_put_into_their_full_buffer_comes_in_order_and_by_itself() {
    program("aside.c").run_silently();
}

#[test]
fn a_callback_that_waits_does_not_hold_up_another_buffer() {
    program("two_buffers.c").run_silently();
}

#[test]
fn exceptions_of_callbacks_end_in_the_library_which_reports_them() {
    let printed = program("exceptions.cpp").run();
    let threw = |what: &str, exception: &str| {
        format!("librocprofiler64 (opscope): a {what} of a tool threw {exception}, which is ignored")
    };
    let lines: Vec<&str> = printed.stderr.lines().collect();
    let batch = "buffer's callback";
    assert_eq!(lines[..2], [threw(batch, "std::runtime_error"), threw(batch, "int")]);
    assert!(
        lines[2].starts_with("librocprofiler64 (opscope): a callback for API calls of a tool threw std::"),
        "{lines:?}"
    );
    assert_eq!((lines.len(), printed.stdout.as_str()), (3, ""));
}
