//! Which calls clients may make, and which results the other calls return.

use std::thread;

use opscope_c_programs::Language;
use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Lines};
use super::start;

/// The last revision before 13.0, and the newest one.
const REVISIONS: [&str; 2] = ["156", "193"];

#[test]
fn every_misuse_gets_its_code() {
    for language in Language::ALL {
        for revision in REVISIONS {
            let debuggee = Debuggee::new();
            let mut client = start("misuse.c", language, &[revision], &[debuggee.target()]);
            client.until("attached");
            assert_eq!(client.end().stderr, "");
            assert_eq!(debuggee.log(), "");
        }
    }
}

#[test]
fn inside_of_a_callback_events_can_be_taken_since_13_0_and_before_nothing_can_be_called() {
    for revision in REVISIONS {
        for flavour in ["31", "40", "41", "130"] {
            let debuggee = Debuggee::new();
            let lines = Lines::new();
            let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
            let mut client = start("callback.c", Language::C11, &[flavour, revision], &[debuggee.target()]);
            client.until("attached");
            assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
            drop(loaded);
            assert_eq!(client.end().stderr, "", "{flavour} {revision}");
        }
    }
}

#[test]
fn a_callback_that_is_called_before_initialize_returns_finds_its_events() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let client = start("at_once.c", Language::C11, &[], &[debuggee.target()]);
    assert_eq!(client.end().stderr, "");
}

#[test]
fn an_exception_that_a_callback_throws_is_reported_and_nothing_else_changes() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("throwing.cpp", Language::Cxx17, &[], &[debuggee.target()]);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    let said = client.end().stderr;
    let line = "libcudadebugger (opscope): the notification callback of a tool threw ";
    assert!(said.lines().count() > 3 && said.lines().all(|said| said.starts_with(line)), "{said}");
    assert!(said.contains("threw std::runtime_error,") && said.contains("threw int,"), "{said}");
}

#[test]
fn only_events_that_were_read_are_acknowledged_and_each_thread_waits_for_its_own() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("acknowledge.c", Language::C11, &[], &[debuggee.target()]);
    client.until("attached");
    thread::scope(|scope| {
        for number in [1, 2] {
            let (lines, debuggee) = (&lines, &debuggee);
            scope.spawn(move || assert_eq!(lines.run(debuggee, number).expect("the run succeeds"), Lines::expected()));
        }
    });
    assert_eq!(client.end().stderr, "");
}

/// What the program logs of an event that is not acknowledged.
const NAMED: &str = "(operator_ready, before #0 scale (Mul), run 1) was not acknowledged";

#[test]
fn an_event_that_is_never_acknowledged_blocks_its_thread_for_a_lease_and_both_sides_name_it() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let lease = ("OPSCOPE_DEBUG_LEASE", "1");
    let mut client = start("forgetful.c", Language::C11, &["193"], &[debuggee.target(), lease]);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    assert!(debuggee.log().contains(NAMED), "{}", debuggee.log());
    client.until("holds");
    let said = client.error_line();
    assert!(said.contains("KernelReady, event "), "{said}");
    assert!(said.contains("of the program, was read, but not acknowledged within 1 s"), "{said}");
    client.end();
}

#[test]
fn a_stop_that_a_client_does_not_look_at_ends_with_its_lease_and_the_device_runs_again() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let lease = ("OPSCOPE_DEBUG_LEASE", "1");
    let mut client = start("absent.c", Language::C11, &[], &[debuggee.target(), lease]);
    client.until("ready");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    let log = debuggee.log();
    assert!(log.contains("(breakpoint, before #0 scale (Mul), run 1) was not acknowledged"), "{log}");
    let said = client.error_line();
    assert!(said.contains("was not looked at within 1 s"), "{said}");
    drop(loaded);
    client.end();
}

#[test]
fn a_client_before_13_0_is_reminded_of_an_event_that_it_does_not_acknowledge() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("forgetful.c", Language::C11, &["156"], &[debuggee.target()]);
    client.until("attached");
    thread::scope(|scope| {
        let run = scope.spawn(|| lines.run(&debuggee, 1).expect("the run succeeds"));
        client.until("reminded");
        client.end_input();
        assert_eq!(run.join().expect("the run ends"), Lines::expected());
    });
    assert_eq!(client.end().stderr, "");
}

#[test]
fn a_client_that_is_killed_while_it_holds_an_event_lets_the_program_go() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = start("forgetful.c", Language::C11, &["193"], &[debuggee.target()]);
    client.until("attached");
    thread::scope(|scope| {
        let run = scope.spawn(|| lines.run(&debuggee, 1).expect("the run succeeds"));
        client.until("holds");
        client.kill();
        assert_eq!(run.join().expect("the run ends"), Lines::expected());
    });
    assert!(debuggee.log().contains(NAMED), "{}", debuggee.log());
    // The next client finds the same state as the first one.
    let lease = ("OPSCOPE_DEBUG_LEASE", "0.1");
    let mut next = start("forgetful.c", Language::C11, &["193"], &[debuggee.target(), lease]);
    next.until("attached");
    assert_eq!(lines.run(&debuggee, 2).expect("the run succeeds"), Lines::expected());
}

#[test]
fn models_that_are_loaded_later_are_reported_event_by_event_and_detaching_lets_everything_go() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let mut client = start("attach.c", Language::C11, &[], &[debuggee.target()]);
    client.until("attached");
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    assert_eq!(client.end().stderr, "");
    assert_eq!(debuggee.log(), "");
}

#[test]
fn a_program_that_is_debugged_already_refuses_another_client_until_the_first_one_goes() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let attach = || start("attach.c", Language::C11, &[], &[debuggee.target()]);
    let mut first = attach();
    first.until("attached");
    let mut second = attach();
    assert!(second.error_line().contains("answers CUDBG_ERROR_ATTACH_NOT_POSSIBLE"));
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    first.end();
    // The model is already loaded, which this client does not expect; but it is attached.
    assert!(attach().error_line().contains("CTX_CREATE, not ATTACH_COMPLETE"));
}

#[test]
fn a_suspension_finds_nothing_to_stop_when_the_program_has_ended_and_does_not_fail() {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    // The client does not read that the model is loaded, so the program waits for a lease.
    let short = ("OPSCOPE_DEBUG_LEASE", "1");
    let mut client = start("ended.c", Language::C11, &[], &[debuggee.target(), short]);
    client.until("attached");
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    client.until("notified");
    drop(debuggee);
    client.end_input();
    assert_eq!(client.end().stderr, "");
}
