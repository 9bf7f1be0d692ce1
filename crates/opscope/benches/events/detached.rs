//! A debugger without a client.

use std::hint::black_box;
use std::path::Path;

use opscope::debug::Debugger;
use opscope::model::{Dispatch, Fidelity, Instrument, NoLiveValues, NoObserver, RunId, RunInfo, RunObserver};
use opscope_clock::Calibration;

use crate::support::{
    self, Case, Goal, Pairs, Ready, light, median, models, nanos, not_measured, pairs, ready, smallest,
};

const PAIRS: usize = 120;

/// The debugger's observer against one that does nothing, called as an engine calls them.
pub fn per_dispatch(calibration: &Calibration) {
    const ROUNDS: usize = 2_000;
    let ready = ready(&smallest(), Fidelity::Exact);
    let debugger = Debugger::new().expect("there are descriptors");
    let info = info(&ready);
    let attachable = debugger.observe(&info);
    // An engine asks, too.
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
    let measured = pairs(PAIRS, || call(bare), || call(black_box(&*attachable)));
    let (value, interval) = measured.difference();
    Case {
        bench: "events",
        case: "detached, per dispatch".to_owned(),
        value,
        interval: Some(interval),
        unit: "ns",
        peer: "an observer that does nothing, ns".to_owned(),
        peer_value: median(&measured.first),
        floor: Some(0.0),
        goal: "<= 1 ns more".to_owned(),
        met: Goal::AtMost(1.0).met(value, Some(interval), 0.0),
    }
    .print();
}

/// Whole runs with the debugger and without, in turns, and without against without.
pub fn whole_runs(calibration: &Calibration) {
    for (name, count) in [("squeezenet", PAIRS), ("resnet50", PAIRS / 4)] {
        match light(name) {
            Some(path) => in_noise(name, &measure(&path, 1, count, calibration)),
            None => not_measured("events", &format!("detached run, {name}"), "within the noise"),
        }
    }
    // A run so short shows what a debugger costs it once, whatever it computes.
    for (name, runs) in [("tiny_transformer", 20), ("digits_cnn", 200)] {
        in_full(name, &measure(&models().join(format!("{name}.onnx")), runs, PAIRS, calibration));
    }
}

/// Runs without and with a debugger, and before these the ratio of runs without to each other.
struct Measured {
    noise: (f64, f64),
    runs: Pairs,
}

fn measure(path: &Path, runs: usize, count: usize, calibration: &Calibration) -> Measured {
    let ready = ready(path, Fidelity::Optimised);
    let debugger = Debugger::new().expect("there are descriptors");
    let plain = || each(runs, calibration, || run(&ready, &NoObserver));
    let attachable = || {
        each(runs, calibration, || {
            let info = info(&ready);
            run(&ready, &*debugger.observe(&info));
        })
    };
    let (_, noise) = pairs(count, plain, plain).ratio();
    Measured { noise, runs: pairs(count, plain, attachable) }
}

fn in_noise(name: &str, Measured { noise, runs }: &Measured) {
    let (value, interval) = runs.ratio();
    Case {
        bench: "events",
        case: format!("detached run, {name}"),
        value,
        interval: Some(interval),
        unit: "x",
        peer: "without a debugger, us".to_owned(),
        peer_value: median(&runs.first) / 1e3,
        floor: Some(1.0),
        goal: format!("within the noise of the same against itself, {:.4} to {:.4}", noise.0, noise.1),
        met: Goal::AtMost(1.0).met(value, Some(interval), support::noise(*noise, 1.0)),
    }
    .print();
}

fn in_full(name: &str, Measured { runs, .. }: &Measured) {
    /// Of a run of some microseconds: what preparing an observer and asking it once for each kernel may cost.
    const SHARE: f64 = 0.03;
    let (value, interval) = runs.difference();
    let plain = median(&runs.first);
    Case {
        bench: "events",
        case: format!("detached run, {name}"),
        value,
        interval: Some(interval),
        unit: "ns more",
        peer: "without a debugger, us".to_owned(),
        peer_value: plain / 1e3,
        floor: Some(0.0),
        goal: format!("<= {:.0} % of the run", SHARE * 100.0),
        met: Goal::AtMost(SHARE * plain).met(value, Some(interval), 0.0),
    }
    .print();
}

fn each(runs: usize, calibration: &Calibration, mut run: impl FnMut()) -> f64 {
    nanos(calibration, || (0..runs).for_each(|_| run())) / runs as f64
}

/// A run of a model as its observers see it.
pub fn info(ready: &Ready) -> RunInfo<'_> {
    let fidelity = ready.session.model().fidelity();
    RunInfo { id: RunId(0), graph: ready.session.graph(), kernels: ready.plan.kernels(), fidelity }
}

/// Runs once.
pub fn run(ready: &Ready, observer: &dyn RunObserver) {
    black_box(ready.plan.run(RunId(0), &*ready.resident, observer).expect("it runs"));
}
