//! Callback threads.

use super::program;

#[test]
fn functions_around_the_creation_of_threads_may_create_threads_and_use_everything() {
    program("hooks.c").run_silently();
}

#[test]
fn callback_threads_are_announced_and_serve_the_buffers_that_are_assigned_to_them() {
    program("threads.c").run_silently();
}

#[test]
fn a_tool_that_wants_nothing_gets_no_thread() {
    program("no_thread.c").run_silently();
}
