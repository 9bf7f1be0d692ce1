//! Records that were overwritten.

use opscope_c_programs::DIRECTORY;

use super::program;

#[test]
fn next_record_steps_over_every_kind_and_never_over_what_is_damaged() {
    program("damaged.c").run_silently();
}

#[test]
fn a_flush_tells_once_that_the_file_of_a_buffer_was_damaged() {
    program("file.c").with("OPSCOPE_ROCPROFILER_BUFFERS", DIRECTORY).argument(DIRECTORY).run_silently();
}
