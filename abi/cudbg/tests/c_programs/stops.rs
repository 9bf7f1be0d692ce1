//! Clients that stop runs, look at them, and change them.

use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Lines};
use super::support::{Language, program};

/// Runs `stops.c` over two runs of the model.
fn stopped(how: &str, language: Language) {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = program("stops.c", language).start(&[how], &[debuggee.target()]);
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
    Language::ALL.map(|language| stopped("events", language));
}
