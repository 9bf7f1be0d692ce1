//! The numbers of dispatches, where runs are stopped in them, and which events a client does not receive.

use opscope_c_programs::Language;
use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Lines};
use super::start;

/// Runs `dispatches.c` over one run. Returns the lines that it printed of dispatches and of stops.
fn watched(lines: &Lines, breakpoints: &[&str]) -> [Vec<String>; 2] {
    let debuggee = Debuggee::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("dispatches.c", Language::C11, breakpoints, &[debuggee.target()]);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    let printed = client.end();
    assert_eq!(printed.stderr, "");
    let printed: Vec<_> = printed.stdout.lines().map(ToOwned::to_owned).collect();
    let (stops, mut dispatches): (Vec<_>, Vec<_>) = printed.into_iter().partition(|line| line.starts_with("stopped"));
    // Each queue has its own order.
    dispatches.sort();
    [dispatches, stops]
}

#[test]
fn a_run_that_is_stopped_behind_an_operator_is_still_in_that_dispatch() {
    let [dispatches, stops] = watched(&Lines::new(), &["scale", "16", "log", "0", "log", "16"]);
    assert_eq!(dispatches, ["finished 1", "finished 2", "finished 3", "ready 1", "ready 2", "ready 3"]);
    let active = ["scale+16, grid 1", "log+0, grid 2", "log+16, grid 2"];
    assert_eq!(stops, active.map(|place| format!("stopped at {place}, status 2")));
}

#[test]
fn a_breakpoint_at_an_operator_that_was_fused_is_hit_at_its_own_address() {
    let [dispatches, stops] = watched(&Lines::fused(), &["log", "0", "sum", "16"]);
    assert_eq!(dispatches, ["finished 1", "finished 2", "ready 1", "ready 2"]);
    let active = ["log+0, grid 2", "sum+16, grid 2"];
    assert_eq!(stops, active.map(|place| format!("stopped at {place}, status 2")));
}

#[test]
fn a_client_gets_no_events_of_suspensions_unless_it_asks_for_them() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    assert_eq!(start("quiet.c", Language::C11, &[], &[debuggee.target()]).end().stderr, "");
}
