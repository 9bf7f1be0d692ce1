//! How tools are found, and when they are called.

use opscope_c_programs::{Language, Printed, Program};

use super::{SDK, program, run_with_both_runtimes};

const TOOL: &str = "ROCP_TOOL_LIBRARIES";

/// A program that is not a tool itself.
fn host() -> Program {
    program("host.c")
}

/// A program that exports `rocprofiler_configure`.
fn tool() -> Program {
    program("tool.c").option("-DPROGRAM")
}

/// Runs a program, which prints this, and these messages of the library.
#[track_caller]
fn prints(program: Program, stdout: &str, messages: &[&str]) {
    let printed = program.run();
    let stderr: String = messages.iter().map(|message| format!("librocprofiler-sdk (opscope): {message}\n")).collect();
    assert_eq!((printed.stdout.as_str(), printed.stderr), (stdout, stderr));
}

#[test]
fn a_program_that_is_a_tool_is_found() {
    let stdout = "\
main
program is configured as 0
program is initialized
program sees first
program sees second
end of main
program is finalized
exit function
";
    prints(tool(), stdout, &[]);
}

const ONE: &str = "\
main
one is configured as 0
one is initialized
one sees first
one sees second
end of main
one is finalized
exit function
";

const WITHOUT: &str = "main\nend of main\nexit function\n";

#[test]
fn a_variable_names_tools() {
    let one = || host().beside("tool.c", "one.so", &["-DNAME=\"one\"", SDK]);
    prints(one().with(TOOL, "{directory}/one.so"), ONE, &[]);
    prints(one().with(TOOL, "{directory}/one.so:"), ONE, &[]);
    prints(one().with(TOOL, ":{directory}/one.so:{directory}/one.so"), ONE, &[]);
    prints(one(), WITHOUT, &[]);
}

#[test]
fn what_is_no_tool_is_named_and_left_out() {
    let host = host().beside("tool.c", "one.so", &["-DNAME=\"one\"", SDK]).beside("runtime.c", "other.so", &[SDK]);
    let printed = host.with(TOOL, "{directory}/missing.so:{directory}/other.so:{directory}/one.so").run();
    assert_eq!(printed.stdout, ONE);
    let [missing, other] = printed.stderr.lines().collect::<Vec<_>>().try_into().expect("two lines");
    let start = "librocprofiler-sdk (opscope): the tool {directory}/missing.so cannot be loaded: ";
    assert!(missing.starts_with(start), "{missing}");
    let line =
        "librocprofiler-sdk (opscope): {directory}/other.so is not a tool: it does not export rocprofiler_configure";
    assert_eq!(other, line);
}

#[test]
fn several_tools_have_their_own_contexts_and_each_is_finalized_once() {
    let program = tool()
        .beside("tool.c", "one.so", &["-DNAME=\"one\"", SDK])
        .beside("tool.c", "quiet.so", &["-DNAME=\"quiet\"", "-DMODE=\"quiet\"", SDK])
        .beside("tool.c", "two.so", &["-DNAME=\"two\"", "-DMODE=\"ends\"", SDK]);
    let stdout = "\
main
one is configured as 0
quiet is configured as 1
two is configured as 2
program is configured as 3
one is initialized
two is initialized
program is initialized
one sees first
two sees first
two is finalized
two has ended
program sees first
one sees second
program sees second
end of main
one is finalized
program is finalized
exit function
";
    prints(program.with(TOOL, "{directory}/one.so:{directory}/quiet.so:{directory}/two.so"), stdout, &[]);
}

#[test]
fn a_tool_that_finalizes_itself_sees_nothing_afterwards() {
    let stdout = "\
main
program is configured as 0
program is initialized
program sees first
program is finalized
program has ended
end of main
exit function
";
    prints(tool().option("-DMODE=\"ends\""), stdout, &[]);
}

#[test]
fn a_tool_may_use_roctx_while_it_is_initialized() {
    let forced = || host().option("-DFORCE");
    for mode in ["-DMODE=\"uses\"", "-DMODE=\"thread\""] {
        prints(tool().option(mode), &ONE.replace("one", "program"), &[]);
        prints(tool().option(mode).option("-DFORCE"), &ONE.replace("one", "program"), &[]);
    }
    prints(forced(), WITHOUT, &[]);
}

#[test]
fn a_tool_is_forced_once_and_in_time() {
    program("force.c").argument("early").run_silently();
    program("force.c").argument("late").run_silently();
    program("force.c").argument("threads").run_silently();
}

#[test]
fn a_tool_gets_all_that_a_library_records_while_it_is_loaded() {
    let program = program("constructor.c").beside("constructor.c", "tool.so", &["-DTOOL", SDK]);
    let program = program.beside("constructor.c", "library.so", &["-DLIBRARY", "-lrocprofiler-sdk-roctx", SDK]);
    prints(program.with(TOOL, "{directory}/tool.so"), "2000 marks\n", &[]);
}

#[test]
fn the_last_flush_and_the_finalization_come_before_the_destructors_of_a_tools_objects() {
    let printed =
        host().beside("statics.cpp", "tool.so", &[SDK]).with(TOOL, "{directory}/tool.so").run_as(Language::Cxx17);
    let stdout = "\
main
end of main
the last flush: 2 marks, the first is first, 2 records, 2 batches, 2 calls
finalized
destroyed: of a buffer's callback
destroyed: of a tracing callback
destroyed: of the initialization
destroyed: of the library
exit function
";
    assert_eq!(printed, Printed { stdout: stdout.to_owned(), stderr: String::new() });
}

#[test]
fn a_process_may_end_in_the_middle_of_a_tools_initialization_or_finalization() {
    program("ends.c").argument("initialization").run_silently();
    program("ends.c").argument("fork").run_silently();
    // If there were one wait for each buffer, this would exceed the time limit of a test.
    program("ends.c").argument("hang").run_silently();
}

#[test]
fn nothing_of_a_tool_is_called_after_its_finalization() {
    for finalized_in in ["enter", "another context", "request"] {
        run_with_both_runtimes("finalizing.c", &[finalized_in]);
    }
}

#[test]
fn a_tool_that_finalizes_itself_in_a_buffers_callback_gets_all_records_before() {
    run_with_both_runtimes("finalizing.c", &["large batch"]);
    run_with_both_runtimes("finalizing.c", &["small batches"]);
}

#[test]
fn a_finalization_in_progress_is_waited_for() {
    program("finalizing.c").argument("threads").run_silently();
    prints(program("finalizing.c").argument("exit"), "finalized\n", &[]);
}

#[test]
fn parent_and_child_of_a_fork_each_continue() {
    program("fork.c").run_silently();
}

#[test]
fn a_program_ends_while_its_threads_are_traced() {
    run_with_both_runtimes("exiting.c", &[]);
}
