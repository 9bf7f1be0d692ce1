//! Callback threads.

use super::support::program;

#[test]
fn callback_threads_are_announced_and_serve_the_buffers_that_are_assigned_to_them() {
    program("threads.c").run_silently();
}
