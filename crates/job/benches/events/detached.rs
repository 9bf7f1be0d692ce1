//! A debugger without a client.

use std::hint::black_box;
use std::path::Path;

use opscope::debug::Debugger;
use opscope::model::{Dispatch, Fidelity, Instrument, NoLiveValues, NoObserver, RunId, RunInfo, RunObserver};
use opscope_bench::{Case, Contender, Goal, Rounds, not_measured};
use opscope_clock::Calibration;

use crate::support::{NO_MODELS, Ready, light, models, nanos, ready, smallest};

/// The number of rounds that are measured at once.
const ROUNDS: usize = 120;

/// Compares the debugger's observer with one that does nothing. Both are called as an engine calls them.
pub fn per_dispatch(calibration: &Calibration) {
    const ROUNDS: usize = 2_000;
    let ready = ready(&smallest(), Fidelity::Exact);
    let debugger = Debugger::new().expect("there are descriptors");
    let info = info(&ready);
    let attachable = debugger.observe(&info);
    // An engine also asks for the interest.
    black_box(attachable.interest());
    let dispatches: Vec<Dispatch<'_>> = ready
        .plan
        .kernels()
        .iter()
        .map(|kernel| Dispatch {
            run: RunId(0),
            kernel,
            graph: info.graph,
            path: &[],
            inputs: &[],
            live: &NoLiveValues,
        })
        .collect();
    let call = |observer: &dyn RunObserver| {
        let time = nanos(calibration, || {
            for _ in 0..ROUNDS {
                for dispatch in &dispatches {
                    black_box(observer.before(black_box(dispatch), &[]));
                    black_box(observer.after(black_box(dispatch), &[]));
                }
            }
        });
        time / (ROUNDS * dispatches.len()) as f64
    };
    let bare: &dyn RunObserver = black_box(&NoObserver);
    let goal = Goal::AtMost(1.0);
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("an observer that does nothing", || call(bare)),
            Contender::new("the debugger's", || call(black_box(&*attachable))),
        ],
    );
    let judged = rounds.decide_difference(goal, 1, 0, 1.0);
    let peer = ("an observer that does nothing, ns", rounds.cost(0).value);
    let case = "detached, more per dispatch".to_owned();
    Case { bench: "events", case, judged, unit: "ns", peer, floor: Some(0.0), goal }.print();
}

/// Compares whole runs with the debugger and without it.
pub fn whole_runs(calibration: &Calibration) {
    // A bound of exactly 1 could never be decided, because a debugger makes no run faster.
    let noise = Goal::AtMost(1.01);
    for (name, step) in [("squeezenet", ROUNDS), ("resnet50", ROUNDS / 4)] {
        let case = format!("detached run, {name}");
        match light(name) {
            Some(path) => whole_run(case, &path, (1, step), noise, calibration),
            None => not_measured("events", &case, noise, "x", NO_MODELS),
        }
    }
    // A run of some microseconds shows the cost that a debugger adds once per run.
    for (name, runs) in [("tiny_transformer", 20), ("digits_cnn", 200)] {
        let path = models().join(format!("{name}.onnx"));
        whole_run(format!("detached run, {name}"), &path, (runs, ROUNDS), Goal::AtMost(1.03), calibration);
    }
}

/// Measures `step` rounds at once, of `runs` runs each.
fn whole_run(case: String, path: &Path, (runs, step): (usize, usize), goal: Goal, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Optimised);
    let debugger = Debugger::new().expect("there are descriptors");
    let mut rounds = Rounds::new(
        step,
        [
            Contender::new("without a debugger", || each(runs, calibration, || run(&ready, &NoObserver))),
            Contender::new("with a debugger", || {
                each(runs, calibration, || {
                    let info = info(&ready);
                    run(&ready, &*debugger.observe(&info));
                })
            }),
        ],
    );
    let judged = rounds.decide_ratio(goal, 1, 0);
    let peer = ("without a debugger, us", rounds.cost(0).value / 1e3);
    Case { bench: "events", case, judged, unit: "x", peer, floor: Some(1.0), goal }.print();
}

fn each(runs: usize, calibration: &Calibration, mut run: impl FnMut()) -> f64 {
    nanos(calibration, || (0..runs).for_each(|_| run())) / runs as f64
}

/// Returns the information about a run that its observers get.
pub fn info(ready: &Ready) -> RunInfo<'_> {
    let fidelity = ready.session.model().fidelity();
    RunInfo { id: RunId(0), graph: ready.session.graph(), kernels: ready.plan.kernels(), fidelity }
}

/// Runs once.
pub fn run(ready: &Ready, observer: &dyn RunObserver) {
    black_box(ready.plan.run(RunId(0), &*ready.resident, observer).expect("it runs"));
}
