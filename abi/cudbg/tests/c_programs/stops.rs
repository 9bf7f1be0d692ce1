//! Clients that stop runs, look at them, and change them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use opscope_c_programs::Language;
use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Done, Lines};
use super::start;

/// Runs `stops.c` over two runs of the model.
fn stopped(how: &str, language: Language) {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("stops.c", language, &[how], &[debuggee.target()]);
    client.until("ready");
    // The client replaces an element of the input of `log` by 1, and one of its outputs by 100.
    let mut expected = Lines::expected();
    (expected[0], expected[1]) = (2.0 + 100.0, 4.0 + 0.0);
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), expected);
    client.until("resumed");
    assert_eq!(lines.run(&debuggee, 2).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn a_client_reads_and_changes_tensors_at_a_breakpoint_and_the_run_computes_with_them() {
    stopped("classic", Language::C11);
}

#[test]
fn a_client_that_asks_for_it_gets_an_event_when_the_device_is_suspended() {
    Language::ALL.into_iter().for_each(|language| stopped("events", language));
}

#[test]
fn a_step_brings_a_run_to_its_next_operator_before_the_launch_there_is_acknowledged() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("steps.c", Language::C11, &[], &[debuggee.target()]);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    assert_eq!(client.end().stderr, "");
    assert_eq!(debuggee.log(), "");
}

#[test]
fn a_client_stops_a_running_program_between_operators_at_any_time() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("suspend.c", Language::C11, &["running"], &[debuggee.target()]);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut runs = 0;
            while !is_done.load(Ordering::Relaxed) {
                runs += 1;
                assert_eq!(lines.run(&debuggee, runs).expect("the run succeeds"), Lines::expected());
            }
            runs
        });
        // Also when the client fails.
        let done = Done(&is_done);
        client.until("done");
        drop(done);
        assert!(running.join().expect("all runs end") > 0);
    });
    drop(loaded);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn a_client_runs_to_an_operator_and_no_further_than_a_breakpoint_or_the_end() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("until.c", Language::C11, &[], &[debuggee.target()]);
    client.until("ready");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn a_client_that_breaks_on_launch_stops_at_every_operator() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("suspend.c", Language::C11, &["launch"], &[debuggee.target()]);
    client.until("ready");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn a_run_that_fails_is_stopped_as_by_an_exception() {
    let debuggee = Debuggee::new();
    let lines = Lines::new().with_failure(false);
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("exception.c", Language::C11, &["failure"], &[debuggee.target()]);
    client.until("attached");
    let error = lines.run(&debuggee, 1).expect_err("the run fails");
    assert!(error.to_string().contains("it was made to fail"), "{error}");
    client.until("seen");
    assert_eq!(client.end().stderr, "");
}

#[test]
fn the_first_infinity_of_a_run_is_an_exception_where_the_user_wants_it_so() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let variables = [debuggee.target(), ("OPSCOPE_DEBUG_NONFINITE", "1")];
    let mut client = start("exception.c", Language::C11, &["infinity"], &variables);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    let outputs = lines.run_from(&debuggee, 2, [1.0, 0.0, 3.0, 4.0]).expect("the run succeeds");
    assert_eq!(outputs[1], f32::NEG_INFINITY);
    client.until("seen");
    assert_eq!(client.end().stderr, "");
}

#[test]
fn an_engine_that_panics_is_an_internal_error_and_keeps_no_thread() {
    let debuggee = Debuggee::new();
    let lines = Lines::new().with_failure(true);
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("exception.c", Language::C11, &["panic"], &[debuggee.target()]);
    client.until("attached");
    let error = lines.run(&debuggee, 1).expect_err("the run fails");
    assert!(error.to_string().contains("it was made to panic"), "{error}");
    assert_eq!(client.end().stderr, "");
}
