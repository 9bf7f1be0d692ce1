//! Records of ROCTx calls.

use opscope_c_programs::{DIRECTORY, Library, Program};

use super::{found, program, without_runtime};

/// A program whose ROCTx runtime only the system finds.
fn in_path(source: &str) -> Program {
    without_runtime(source).with("LD_LIBRARY_PATH", found())
}

/// A program that loads the library from its own directory, which has no ROCTx runtime.
fn alone(source: &str) -> Program {
    let library = Library::RocprofilerV2.files().join("librocprofiler64.so.2");
    without_runtime(source).copy_of(library).with("LD_LIBRARY_PATH", DIRECTORY)
}

#[test]
fn every_roctx_call_is_a_record_with_what_the_call_passed() {
    program("markers.c").run_silently();
}

#[test]
fn a_callback_for_api_calls_gets_each_call_once_on_its_thread() {
    program("sync.c").run_silently();
}

#[test]
fn callbacks_for_api_calls_get_their_session_and_its_end_waits_for_them() {
    program("ending.c").run_silently();
}

#[test]
fn a_callback_may_end_and_start_its_session_while_the_roctx_runtime_registers_the_library() {
    in_path("registering.c").run_silently();
}

#[test]
fn sessions_can_be_used_while_a_roctx_runtime_is_looked_for() {
    in_path("looking.c").run_silently();
}

#[test]
fn a_million_records_of_several_threads_arrive_once_and_in_order() {
    program("many.c").run_silently();
}

#[test]
fn a_roctx_runtime_is_found_where_the_system_looks_and_beside_the_library() {
    in_path("found.c").run_silently();
    alone("found.c").copy_of(Library::Roctx.files().join("libroctx64.so.4")).run_silently();
}

#[test]
fn without_a_roctx_runtime_a_session_works_and_the_lack_is_told() {
    let printed = alone("found.c").argument("none").run();
    let line = "librocprofiler64 (opscope): there is no ROCTx runtime with roctxRegisterTracerCallback; \
                its calls are not recorded\n";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", line));
}

#[test]
fn marks_of_signal_handlers_wait_for_nothing_and_lose_nothing_of_the_program() {
    program("signals.c").run_silently();
    program("signals.c").argument("callback").run_silently();
}
