//! How a profiler is found, and what it receives.

use opscope_c_programs::{Library, Printed, Program};

use super::{OLDER, SDK, program};

const UNWRAPPED: &str = "\
push 0
pop 0
start 1
thread 0 1
pause 0
resume 0
name 0
name 0
name 0
name 0
";

const WRAPPED: &str = "\
registered roctx 10000 0 56 24 40
wrapped mark here
wrapped push outer
push 0
wrapped pop
pop 0
wrapped start range
start 1
wrapped stop 1
wrapped thread
thread 0 1
wrapped pause 7
pause 10
wrapped resume 8
resume 20
wrapped thread's name main
name 0
wrapped agent's name agent
name 0
wrapped device's name device
name 3
wrapped stream's name stream
name 0
";

/// A library name that only the system's loader could find, and a tool that needs it.
const TOOL: (&str, &str) = ("ROCP_TOOL_LIBRARIES", "/nonexistent/tool.so");
const FOUND: (&str, &str) = ("LD_LIBRARY_PATH", "{directory}");

fn calls() -> Program {
    program("calls.c", SDK)
}

fn with_profiler() -> Program {
    calls().beside("profiler.c", "librocprofiler-sdk.so", &[])
}

#[track_caller]
fn prints(program: Program, stdout: &str) {
    assert_eq!(program.run(), Printed { stdout: stdout.to_owned(), stderr: String::new() });
}

#[test]
fn without_a_tool_no_profiler_is_loaded() {
    prints(with_profiler().with(FOUND.0, FOUND.1), UNWRAPPED);
    prints(with_profiler().with(FOUND.0, FOUND.1).with("ROCP_TOOL_LIBRARIES", ""), UNWRAPPED);
    prints(with_profiler().with(FOUND.0, FOUND.1).with("ROCPROFILER_REGISTER_FORCE_LOAD", "0"), UNWRAPPED);
}

#[test]
fn a_tool_is_a_variable_or_a_symbol() {
    prints(with_profiler().with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1), WRAPPED);
    prints(with_profiler().with(FOUND.0, FOUND.1).with("ROCPROFILER_REGISTER_FORCE_LOAD", "yes"), WRAPPED);
    prints(with_profiler().with(FOUND.0, FOUND.1).option("-DTOOL"), WRAPPED);
}

#[test]
fn registration_can_be_switched_off() {
    for (value, stdout) in [("0", UNWRAPPED), ("Off", UNWRAPPED), ("1", WRAPPED), ("on", WRAPPED), ("", WRAPPED)] {
        let program = with_profiler().with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1);
        prints(program.with("ROCPROFILER_REGISTER_ENABLED", value), stdout);
    }
}

#[test]
fn a_profiler_that_is_loaded_comes_first() {
    let program = calls().beside("profiler.c", "other.so", &[]).with("LD_PRELOAD", "{directory}/other.so");
    prints(program.with(TOOL.0, TOOL.1).with("ROCPROFILER_REGISTER_LIBRARY", "libm.so.6"), WRAPPED);
}

#[test]
fn a_profiler_is_found_where_a_variable_says() {
    let program = calls().beside("profiler.c", "other.so", &[]);
    prints(program.with("ROCPROFILER_REGISTER_LIBRARY", "{directory}/other.so"), WRAPPED);
    // If it is not there, it is searched elsewhere under the same name.
    let program = with_profiler().with("ROCPROFILER_REGISTER_LIBRARY", "/nonexistent/librocprofiler-sdk.so");
    prints(program.with(FOUND.0, FOUND.1), WRAPPED);
}

#[test]
fn a_profiler_is_found_beside_the_library() {
    let copy = "librocprofiler-sdk-roctx.so.1";
    let program = with_profiler()
        .copy_of(Library::Roctx.files().join(copy))
        .with("LD_PRELOAD", "{directory}/librocprofiler-sdk-roctx.so.1");
    prints(program.with(TOOL.0, TOOL.1), WRAPPED);
}

#[test]
fn the_older_library_registers_the_same_tables() {
    let program = program("calls.c", OLDER).beside("profiler.c", "librocprofiler-sdk.so", &[]);
    prints(program.with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1), WRAPPED);
}

#[test]
fn an_entry_that_is_null_does_what_it_did_before() {
    let program = with_profiler().with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1).with("FAKE_NULL", "1");
    prints(program, &format!("registered roctx 10000 0 56 24 40\n{UNWRAPPED}"));
}

#[test]
fn what_goes_wrong_is_one_line_and_the_program_continues() {
    let missing = calls().with(TOOL.0, TOOL.1).run();
    assert_eq!(missing.stdout, UNWRAPPED);
    assert!(
        missing.stderr.starts_with("roctx: no profiler receives ranges and marks: librocprofiler-sdk.so: "),
        "{missing:?}"
    );
    assert_eq!(missing.stderr.lines().count(), 1, "{missing:?}");

    let other = calls().with("ROCPROFILER_REGISTER_LIBRARY", "libm.so.6").run();
    let line = "roctx: no profiler receives ranges and marks: libm.so.6 has no rocprofiler_set_api_table\n";
    assert_eq!((other.stdout.as_str(), other.stderr.as_str()), (UNWRAPPED, line));

    let refusing = with_profiler().with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1).with("FAKE_STATUS", "19").run();
    let line = "roctx: the profiler did not take the tables: status 19\n";
    assert_eq!((refusing.stdout.as_str(), refusing.stderr.as_str()), (WRAPPED, line));
}

#[test]
fn many_threads_register_once() {
    let program = program("threads.c", SDK).beside("profiler.c", "librocprofiler-sdk.so", &[]);
    let stdout = "registered roctx 10000 0 56 24 40\nwrapped mark after\n";
    prints(program.with(FOUND.0, FOUND.1).with(TOOL.0, TOOL.1), stdout);
}

const TO_REGISTER: &str = "to rocprofiler-register roctx 10000 10000 56 24 40\n";

fn with_register() -> Program {
    with_profiler()
        .beside("register.c", "librocprofiler-register.so.0", &[])
        .with(FOUND.0, FOUND.1)
        .with(TOOL.0, TOOL.1)
}

#[test]
fn rocprofiler_register_gets_the_tables_if_there_is_one() {
    prints(with_register(), &format!("{TO_REGISTER}wrapped mark here\n{UNWRAPPED}"));
    let preloaded = with_profiler().beside("register.c", "other.so", &[]).with("LD_PRELOAD", "{directory}/other.so");
    prints(preloaded, &format!("{TO_REGISTER}wrapped mark here\n{UNWRAPPED}"));
}

#[test]
fn what_rocprofiler_register_answers_is_respected() {
    let no_tools = with_register().with("FAKE_REGISTER", "1");
    prints(no_tools, &format!("{TO_REGISTER}{UNWRAPPED}"));
    // It registers another runtime on this thread, so the next call tries again.
    let busy = with_register().with("FAKE_REGISTER", "2");
    prints(busy, &format!("{TO_REGISTER}{TO_REGISTER}{UNWRAPPED}"));
    let refusing = with_register().with("FAKE_REGISTER", "7").run();
    let line = "roctx: rocprofiler-register did not take the tables: status 7\n";
    assert_eq!((refusing.stdout, refusing.stderr.as_str()), (format!("{TO_REGISTER}{UNWRAPPED}"), line));
}
