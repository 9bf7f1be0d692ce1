//! What watching a PyTorch program costs: a transformer of 110 M parameters that is trained, and forward and backward of
//! a small one of some 780 operators, on one thread, beside the same steps never watched, and beside other tools. The
//! floor is what PyTorch's own hooks and modes cost that do nothing.
//!
//! What is measured runs in `torch_worker.py`, in the Python of `OPSCOPE_BENCH_TORCH`, which has the package, PyTorch and
//! the other tools. It answers each line with the cost of what the line names.

mod worker;

use std::process::ExitCode;

use opscope_bench::{Case, Goal, Judged, Measured, Rounds, finish};
use worker::Worker;

/// How many rounds are measured at once.
const ROUNDS: usize = 5;
/// Rounds of whole processes.
const PROCESSES: usize = 15;

fn main() -> ExitCode {
    let worker = Worker::start("OPSCOPE_BENCH_TORCH", "torch_worker.py");
    let of = "never watched, ms";
    let ratio = |case: &str, ours: &'static str, plain: &'static str, floor: &'static str, goal| {
        let contenders = [worker.contender(ours), worker.contender(plain), worker.contender(floor)];
        let mut rounds = Rounds::new(ROUNDS, contenders);
        let judged = rounds.decide_ratio(goal, 0, 1);
        let ms = |contender| rounds.cost(contender).value * 1e-6;
        Case { bench: "torch", case: case.to_owned(), judged, unit: "x", peer: (of, ms(1)), floor: Some(ms(2)), goal }
            .print();
    };
    ratio("detached again, 110 M", "detached big", "none big", "none big", Goal::AtMost(1.005));
    ratio("detached again, small", "detached small", "none small", "none small", Goal::AtMost(1.005));
    ratio("statistics of modules, 110 M", "modules big", "none big", "hooks big", Goal::AtMost(1.03));
    ratio("statistics of modules, small", "modules small", "none small", "hooks small", Goal::AtMost(1.15));
    ratio("watch, 110 M", "watch big", "none big", "mode big", Goal::AtMost(1.08));
    ratio("watch, small", "watch small", "none small", "mode small", Goal::AtMost(2.5));
    ratio("statistics of operators, 110 M", "operators big", "none big", "mode big", Goal::AtMost(1.2));
    ratio("an idle debugger, 110 M", "debugger big", "none big", "none big", Goal::AtMost(1.02));
    ratio("an idle debugger, small", "debugger small", "none small", "none small", Goal::AtMost(1.02));
    ratio("100 pending breakpoints, 110 M", "breakpoints big", "none big", "mode big", Goal::AtMost(1.03));
    let goal = Goal::AtMost(200.0);
    let mut rounds = Rounds::new(PROCESSES, [worker.contender("command attach"), worker.contender("command version")]);
    rounds.more();
    let judged = Judged::alone(rounds.cost(0).times(1e-6));
    let peer = ("the command's version, ms", rounds.cost(1).value * 1e-6);
    print("attach and detach again, whole command", judged, "ms", peer, goal);
    let less = |case: &str, peer: &'static str, ours: &'static str, plain: &'static str, goal| {
        let contenders = [worker.contender(peer), worker.contender(ours), worker.contender(plain)];
        let mut rounds = Rounds::new(ROUNDS, contenders);
        rounds.more();
        let above = |contender| rounds.cost(contender).value - rounds.cost(2).value;
        let judged = Judged::alone(Measured::exactly(above(0) / above(1)));
        print(case, judged, "x", ("its overhead, ms", above(0) * 1e-6), goal);
    };
    let goal = Goal::AtLeast;
    less("overhead of msprobe's statistics over ours, 110 M", "msprobe big", "operators big", "none big", goal(2.5));
    less("overhead of DebugMode's hashes over ours, 110 M", "debugmode big", "operators big", "none big", goal(8.0));
    less(
        "overhead of msprobe's statistics over ours, small",
        "msprobe small",
        "operators small",
        "none small",
        goal(8.0),
    );
    less(
        "overhead of DebugMode's hashes over ours, small",
        "debugmode small",
        "operators small",
        "none small",
        goal(8.0),
    );
    let goal = Goal::AtMost(1.0);
    let mut rounds = Rounds::new(PROCESSES, [worker.contender("boot with"), worker.contender("boot without")]);
    let judged = rounds.decide_difference(goal, 0, 1, 1e-6);
    print("import torch, not asked for", judged, "ms", ("without the package, ms", rounds.cost(1).value * 1e-6), goal);
    finish()
}

fn print(case: &str, judged: Judged, unit: &str, peer: (&str, f64), goal: Goal) {
    Case { bench: "torch", case: case.to_owned(), judged, unit, peer, floor: None, goal }.print();
}
