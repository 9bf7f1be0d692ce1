//! Records, dumps, debuggers and profilers.

use opscope_c_programs::{DIRECTORY, Language, Library};

use super::{program, run};

const MODEL: &str = "digits_cnn.onnx";
const INPUT: &str = "digits_cnn.input.image.npy";

#[test]
fn records_reach_callbacks_and_none_is_lost() {
    insta::assert_snapshot!(run("records.c", &[]));
}

#[test]
fn calls_of_signal_handlers_wait_for_nothing_and_every_record_is_delivered_or_counted() {
    run("signals.c", &[]);
}

#[test]
fn every_dispatch_of_a_model_is_recorded_with_its_operators_name() {
    insta::assert_snapshot!(run("runs.c", &[MODEL, INPUT]));
}

#[test]
fn dumps_reach_callbacks_and_directories_and_what_is_missing_is_named() {
    insta::assert_snapshot!(run("dump.c", &[MODEL, INPUT, DIRECTORY]));
}

#[test]
fn a_debugger_stops_looks_replaces_and_aborts() {
    insta::assert_snapshot!(run("debug.c", &[MODEL, INPUT, &format!("{DIRECTORY}/socket")]));
}

#[test]
fn a_profiler_leaves_a_recording() {
    run("profile.c", &[MODEL, DIRECTORY]);
}

#[test]
fn programs_that_were_compiled_against_the_first_header_work_as_ever() {
    let socket = format!("{DIRECTORY}/socket");
    let programs: [(&str, &[&str]); 6] = [
        ("session.c", &[MODEL, INPUT]),
        ("records.c", &[]),
        ("runs.c", &[MODEL, INPUT]),
        ("dump.c", &[MODEL, INPUT, DIRECTORY]),
        ("profile.c", &[MODEL, DIRECTORY]),
        ("debug.c", &[MODEL, INPUT, &socket]),
    ];
    for (program, arguments) in programs {
        let first = self::program(program).headers(Library::Opscope.root().join("tests/c/first"));
        let printed = first.arguments(arguments.iter().copied()).run_as(Language::C11).stdout;
        assert_eq!(printed, run(program, arguments), "{program}");
    }
}
