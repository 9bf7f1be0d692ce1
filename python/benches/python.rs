//! What the Python package adds to the library: to memory, to a run, to a dump, to the start of a program.
//!
//! What is measured runs in `worker.py`, in the Python of `OPSCOPE_BENCH_PYTHON`, which has the package. It answers
//! each line with the cost of what the line names.

mod worker;

use std::process::ExitCode;

use opscope_bench::{Case, Goal, Judged, Measured, Rounds, decide, finish, is_moment, not_measured, times};
use worker::Worker;

/// How many rounds are measured at once.
const ROUNDS: usize = 21;
/// Rounds of whole processes.
const PROCESSES: usize = 9;
const MIB: f64 = (1 << 20) as f64;

fn main() -> ExitCode {
    let worker = Worker::start("OPSCOPE_BENCH_PYTHON", "worker.py");
    let us = |case, ours, peer, goal| {
        let mut rounds = Rounds::new(ROUNDS, [worker.contender(ours), worker.contender(peer)]);
        let judged = rounds.decide_difference(goal, 0, 1, 1e-3);
        print(case, judged, "us", ("the run in Rust, us", rounds.cost(1).value * 1e-3), goal);
    };
    us("a run of a small model, tract, above the run in Rust", "run tract", "rust tract", Goal::AtMost(3.0));
    us("the same, ONNX Runtime", "run onnxruntime", "rust onnxruntime", Goal::AtMost(3.0));
    let ratio = |case, ours, peer, of: &'static str, goal| {
        let mut rounds = Rounds::new(ROUNDS, [worker.contender(ours), worker.contender(peer)]);
        let judged = rounds.decide_ratio(goal, 0, 1);
        print(case, judged, "x", (of, rounds.cost(1).value * 1e-3), goal);
    };
    let of = "InferenceSession.run, us";
    ratio("a run of a small model, ONNX Runtime", "run onnxruntime", "session", of, Goal::AtMost(1.1));
    ratio("a session of opscope.onnxruntime, nothing asked for", "wrapped", "session", of, Goal::AtMost(1.01));
    range(&worker);
    import(&worker);
    dump(&worker);
    for engine in ["onnxruntime", "tract"] {
        memory(&worker, engine);
    }
    for (what, asked) in [
        ("arrays of an output elsewhere", "moved tensors"),
        ("columns elsewhere in pyarrow", "moved pyarrow"),
        ("columns elsewhere in pandas, as ArrowDtype", "moved pandas"),
        ("columns elsewhere in polars", "moved polars"),
    ] {
        let judged = Judged::alone(Measured::exactly(worker.ask(asked)));
        print(what, judged, "addresses", ("of so many", worker.ask(&format!("all {asked}"))), Goal::AtMost(0.0));
    }
    finish()
}

fn range(worker: &Worker) {
    let goal = Goal::AtMost(300.0);
    let mut rounds = Rounds::new(ROUNDS, [worker.contender("range"), worker.contender("null context")]);
    let judged = decide(goal, || {
        rounds.more();
        Judged { measured: rounds.cost(0), noise: rounds.difference(0, 0).noise }
    });
    let peer = ("contextlib.nullcontext, ns", rounds.cost(1).value);
    print("with opscope.range(), nothing recorded", judged, "ns", peer, goal);
}

fn import(worker: &Worker) {
    let goal = Goal::AtMost(50.0);
    let mut rounds = Rounds::new(PROCESSES, [worker.contender("import opscope"), worker.contender("import nothing")]);
    let judged = rounds.decide_difference(goal, 0, 1, 1e-6);
    print("import opscope", judged, "ms", ("a Python that imports nothing, ms", rounds.cost(1).value * 1e-6), goal);
}

fn dump(worker: &Worker) {
    let (case, goal) = ("a dump of statistics, densenet121, the whole process", Goal::AtMost(1.05));
    if std::env::var_os("OPSCOPE_LIGHT_MODELS").is_none() {
        return not_measured("python", case, goal, "x", "OPSCOPE_LIGHT_MODELS is not set");
    }
    let mut rounds = Rounds::new(PROCESSES, [worker.contender("dump"), worker.contender("dump by the command")]);
    let judged = rounds.decide_ratio(goal, 0, 1);
    print(case, judged, "x", ("the command, ms", rounds.cost(1).value * 1e-6), goal);
}

/// What a run takes at most above its input, which the program has, and its output. What a session of ONNX Runtime's
/// own takes above them is not opscope's: it is the peer.
fn memory(worker: &Worker, engine: &str) {
    let sample = |of: &str| worker.ask(&format!("memory {of}")) / MIB;
    let own = if engine == "onnxruntime" { sample("session") } else { 0.0 };
    let samples: Vec<f64> = (0..times(3, 1)).map(|_| sample(engine) - own).collect();
    let size = if is_moment() { "16 MiB" } else { "1 GiB" };
    let case = format!("peak of a run of {size} in and out, {engine}, above both and the peer");
    let peer = ("InferenceSession.run above both, MiB", own);
    print(&case, Judged::alone(Measured::of(&samples)), "MiB", peer, Goal::AtMost(16.0));
}

fn print(case: &str, judged: Judged, unit: &str, peer: (&str, f64), goal: Goal) {
    Case { bench: "python", case: case.to_owned(), judged, unit, peer, floor: None, goal }.print();
}
