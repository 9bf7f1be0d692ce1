//! Exceptions of C++.

use opscope_c_programs::Language;

use super::program;

const REPORTED: &str = "\
an intercept callback of a tool threw std::out_of_range, which is ignored
a buffer's callback of a tool threw std::runtime_error, which is ignored
a buffer's callback of a tool threw (anonymous namespace)::own_exception, which is ignored
a request for an external correlation id of a tool threw std::logic_error, which is ignored
a tracing callback of a tool threw int, which is ignored
a buffer's callback of a tool threw (anonymous namespace)::own_exception, which is ignored
the finalization of a tool threw std::runtime_error, which is ignored
";

#[test]
fn exceptions_of_a_tool_end_where_the_library_called_it() {
    let printed = program("exceptions.cpp").run_as(Language::Cxx17);
    let reported: String = REPORTED.lines().map(|line| format!("librocprofiler-sdk (opscope): {line}\n")).collect();
    assert_eq!((printed.stdout.as_str(), printed.stderr), ("", reported));
}

#[test]
fn a_tool_whose_initialization_throws_is_not_called_again() {
    let printed = program("throwing.cpp").run_as(Language::Cxx17);
    let reported = "\
librocprofiler-sdk (opscope): the initialization of a tool threw std::runtime_error, which is ignored
librocprofiler-sdk (opscope): that tool is left out: none of its functions is called any more
";
    assert_eq!((printed.stdout.as_str(), printed.stderr.as_str()), ("", reported));
}
