//! The tables of runtimes.

use super::{program, run_with_both_runtimes};

#[test]
fn a_tool_wraps_the_tables_of_a_runtime_outermost() {
    run_with_both_runtimes("intercept.c", &[]);
}

#[test]
fn runtimes_register_whole_tables_and_each_is_wrapped_once() {
    let printed = program("tables.c").run();
    let line = "librocprofiler-sdk (opscope): roctx registers 4 tables; the first 3 are used\n";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", line));
}
