//! Buffers: sizes, watermarks, policies, flushing and destroying.

use super::program;

#[test]
fn buffers_call_back_at_their_watermark_and_when_they_are_flushed() {
    program("buffers.c").argument("given").run_silently();
}

#[test]
fn drops_after_the_last_records_are_told_by_a_callback_without_records() {
    program("drops.c").run_silently();
}

#[test]
fn variables_override_the_policies() {
    program("buffers.c").argument("discard").with("ROCPROFILER_BUFFER_POLICY_DISCARD", "1").run_silently();
    program("buffers.c").argument("lossless").with("ROCPROFILER_BUFFER_POLICY_LOSSLESS", "1").run_silently();
    let both = program("policies.c").with("ROCPROFILER_BUFFER_POLICY_DISCARD", "1");
    both.with("ROCPROFILER_BUFFER_POLICY_LOSSLESS", "1").run_silently();
}

#[test]
fn callbacks_that_use_what_they_are_called_for_lose_nothing() {
    program("reentrant.c").run_silently();
}
