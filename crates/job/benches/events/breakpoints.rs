//! Breakpoints that never stop a run.

use opscope::debug::{AttachOptions, Attachment, BreakpointSpec, Debugger};
use opscope::model::{Fidelity, Instrument, NoObserver};
use opscope_bench::{Case, Contender, Goal, Rounds};
use opscope_clock::Calibration;

use super::detached::{info, run};
use crate::support::{Ready, models, nanos, smallest};

/// The number of rounds that are measured at once.
const ROUNDS: usize = 120;
const RUNS: usize = 200;
const BREAKPOINTS: usize = 100;

/// Measures what 100 breakpoints cost each dispatch of a run that they do not stop. They are set on operators that the
/// model does not have, on its operators but for another run, and on its operators with a condition that does not hold.
pub fn that_do_not_match(calibration: &Calibration) {
    // The faster a model runs, the clearer the cost beside it is.
    let ready = crate::support::ready(&models().join("tiny_transformer.onnx"), Fidelity::Optimised);
    let other = crate::support::ready(&smallest(), Fidelity::Optimised);
    let at = |ready: &Ready, index: usize| {
        let operator = format!("#{}", index % ready.session.graph().operators.len());
        BreakpointSpec::at(operator.parse().expect("it is a place"))
    };
    let name_of = |index: usize| {
        let operators = &other.session.graph().operators;
        format!("name:{}", operators[index % operators.len()].name)
    };
    case(
        "100 breakpoints on another model's operators",
        Goal::AtMost(100.0),
        &ready,
        &other,
        calibration,
        &|attachment, index| {
            let spec = BreakpointSpec::at(name_of(index).parse().expect("it is a place"));
            attachment.add_breakpoint(spec).expect("it is set");
        },
    );
    case("100 breakpoints for another run", Goal::AtMost(100.0), &ready, &other, calibration, &|attachment, index| {
        let spec = BreakpointSpec { run: Some(u64::MAX), ..at(&ready, index) };
        attachment.add_breakpoint(spec).expect("it is set");
    });
    // Each dispatch is checked: its tensors are shown, and the conditions of some breakpoints are evaluated.
    case(
        "100 breakpoints with a false condition",
        Goal::AtMost(150.0),
        &ready,
        &other,
        calibration,
        &|attachment, index| {
            attachment.add_breakpoint(at(&ready, index).when("rank == 9")).expect("it is set");
        },
    );
}

fn case(
    name: &str,
    goal: Goal,
    ready: &Ready,
    other: &Ready,
    calibration: &Calibration,
    add: &dyn Fn(&Attachment, usize),
) {
    let debugger = Debugger::new().expect("there are descriptors");
    let loaded = [ready, other].map(|ready| debugger.load(ready.session.graph(), Fidelity::Optimised));
    for ready in [ready, other] {
        debugger.planned(ready.session.graph(), Fidelity::Optimised, ready.plan.kernels());
    }
    let attachment = debugger.attach(AttachOptions::default()).expect("no other debugger is attached");
    (0..BREAKPOINTS).for_each(|index| add(&attachment, index));
    let each = |run: &dyn Fn()| nanos(calibration, || (0..RUNS).for_each(|_| run())) / RUNS as f64;
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("without a debugger", || each(&|| run(ready, &NoObserver))),
            Contender::new("with breakpoints", || {
                each(&|| {
                    let info = info(ready);
                    run(ready, &*debugger.observe(&info));
                })
            }),
        ],
    );
    let judged = rounds.decide_difference(goal, 1, 0, 1.0 / ready.plan.kernels().len() as f64);
    let peer = ("run without a debugger, us", rounds.cost(0).value / 1e3);
    Case { bench: "events", case: format!("{name}, per dispatch"), judged, unit: "ns", peer, floor: None, goal }
        .print();
    drop(rounds);
    let stopped: u64 = attachment.breakpoints().expect("it is attached").iter().map(|point| point.hits).sum();
    assert_eq!(stopped, 0, "nothing matches");
    drop(attachment);
    drop(loaded);
}
