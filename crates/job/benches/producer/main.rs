//! Measures what feeding consumers costs a run: without a consumer, with one that requests nothing of its runs, and
//! with one that counts dispatches. A consumer stays attached to its process, so each case is a process of its own.

#[path = "../support/mod.rs"]
mod support;

use std::cell::Cell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use opscope::model::{Fidelity, NoObserver, RunId, RunInfo, RunObserver};
use opscope_bench::{Case, Contender, Goal, Rounds, finish, median};
use opscope_clock::Calibration;
use support::{Ready, calibration, models, nanos, ready};

/// The number of rounds that are measured at once.
const ROUNDS: usize = 120;
const RUNS: usize = 100;

/// The case that this process measures, by its index.
const CASE: &str = "OPSCOPE_PRODUCER_CASE";

/// What a case's consumer requests, as macros of `counter.c`, and the goal in nanoseconds per dispatch.
struct Asked {
    name: &'static str,
    macros: Option<&'static [&'static str]>,
    calls_per_dispatch: u64,
    goal: f64,
}

const CASES: [Asked; 4] = [
    Asked { name: "no consumer", macros: None, calls_per_dispatch: 0, goal: 1.0 },
    Asked {
        name: "a consumer that sets no function of a dispatch",
        macros: Some(&[]),
        calls_per_dispatch: 0,
        goal: 1.0,
    },
    Asked { name: "a consumer that counts dispatch_end", macros: Some(&["-DEND"]), calls_per_dispatch: 1, goal: 100.0 },
    Asked {
        name: "a consumer that counts dispatch_begin and dispatch_end",
        macros: Some(&["-DBEGIN", "-DEND"]),
        calls_per_dispatch: 2,
        goal: 100.0,
    },
];

fn main() -> ExitCode {
    match std::env::var(CASE) {
        Ok(index) => {
            measure(&CASES[index.parse::<usize>().expect("the parent sets it")]);
            finish()
        }
        Err(_) => ExitCode::from((0..CASES.len()).map(start).max().unwrap_or_default()),
    }
}

/// Measures a case in a process of its own, and returns how it ended.
fn start(index: usize) -> u8 {
    let place = tempfile::tempdir().expect("there is a temporary directory");
    if let Some(macros) = CASES[index].macros {
        compile(&place.path().join("librocprofiler-sdk.so.1"), macros);
    }
    let status = Command::new(std::env::current_exe().expect("this is a program"))
        .args(std::env::args_os().skip(1))
        .env(CASE, index.to_string())
        .env("COUNT", place.path().join("count"))
        .env("OPSCOPE_LIB_DIR", place.path())
        .status()
        .expect("it starts again");
    match status.code() {
        Some(code @ 0..=1) => code as u8,
        _ => panic!("the process of a case ends with {status}"),
    }
}

fn compile(to: &Path, macros: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let status = Command::new("cc")
        .args(["-std=c11", "-D_GNU_SOURCE", "-O2", "-shared", "-fPIC", "-I"])
        .arg(here.join("../producer/include"))
        .arg(here.join("benches/producer/counter.c"))
        .args(macros)
        .arg("-o")
        .arg(to)
        .status()
        .expect("there is a C compiler");
    assert!(status.success());
}

fn measure(asked: &Asked) {
    let calibration = calibration();
    let attached = opscope::consumers::attach(c"a benchmark").attached.len();
    assert_eq!(attached, usize::from(asked.macros.is_some()));
    // The faster a model runs, the clearer the cost beside it is.
    let ready = ready(&models().join("tiny_transformer.onnx"), Fidelity::Optimised);
    let fed_runs = Cell::new(0);
    match asked.macros {
        None => making_observers(asked, &ready, &calibration),
        Some(_) => whole_runs(asked, &ready, &calibration, &fed_runs),
    }
    let dispatches = fed_runs.get() * ready.plan.kernels().len() as u64;
    if attached > 0 {
        let count = std::fs::read(PathBuf::from(std::env::var_os("COUNT").expect("the parent sets it")));
        let count = count.expect("the consumer made it").try_into().expect("eight bytes");
        assert_eq!(u64::from_ne_bytes(count), dispatches * asked.calls_per_dispatch, "every dispatch was counted");
    }
}

/// Measures the case without a consumer. A run asks once whether there is one, and its dispatches cost nothing more.
/// The result is how much more making an observer costs than making none, spread over the dispatches.
fn making_observers(asked: &Asked, ready: &Ready, calibration: &Calibration) {
    const CALLS: usize = 20_000;
    let info = info(ready);
    let each = |make: &dyn Fn()| nanos(calibration, || (0..CALLS).for_each(|_| make())) / CALLS as f64;
    let contenders = [
        Contender::new("making no observer", || {
            each(&|| drop(black_box(Box::new(NoObserver) as Box<dyn RunObserver>)))
        }),
        Contender::new("asking for one", || each(&|| drop(black_box(ready.session.observe(black_box(&info), &[]))))),
    ];
    report(asked, ready, contenders, ("making no observer, ns", 1.0));
}

fn whole_runs(asked: &Asked, ready: &Ready, calibration: &Calibration, fed_runs: &Cell<u64>) {
    let each = |run: &dyn Fn()| nanos(calibration, || (0..RUNS).for_each(|_| run())) / RUNS as f64;
    let contenders = [
        Contender::new("without an observer", || each(&|| run(ready, &NoObserver))),
        Contender::new("with a consumer", || {
            fed_runs.set(fed_runs.get() + RUNS as u64);
            each(&|| run(ready, &*ready.session.observe(&info(ready), &[])))
        }),
    ];
    report(asked, ready, contenders, ("run without an observer, us", 1e3));
}

fn report(asked: &Asked, ready: &Ready, contenders: [Contender<'_>; 2], (peer, unit): (&str, f64)) {
    let goal = Goal::AtMost(asked.goal);
    let mut rounds = Rounds::new(ROUNDS, contenders);
    let judged = rounds.decide_difference(goal, 1, 0, 1.0 / ready.plan.kernels().len() as f64);
    // The callbacks are passed times: the begin needs one reading of the clock, the end two.
    let readings = match asked.calls_per_dispatch {
        0 => 0.0,
        calls => calls as f64 + 1.0,
    };
    let calibration = calibration();
    let reading = median(&(0..1000).map(|_| nanos(&calibration, || ())).collect::<Vec<_>>());
    Case {
        bench: "producer",
        case: format!("{}, per dispatch", asked.name),
        judged,
        unit: "ns",
        peer: (peer, rounds.cost(0).value / unit),
        floor: Some(readings * reading),
        goal,
    }
    .print();
}

fn info(ready: &Ready) -> RunInfo<'_> {
    let fidelity = ready.session.model().fidelity();
    RunInfo { id: RunId(0), graph: ready.session.graph(), kernels: ready.plan.kernels(), fidelity }
}

fn run(ready: &Ready, observer: &dyn RunObserver) {
    black_box(ready.plan.run(RunId(0), &*ready.resident, observer).expect("it runs"));
}
