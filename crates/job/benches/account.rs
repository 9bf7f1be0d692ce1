//! Measures whether the account of a run's time explains the run, and whether its time by operator type is true.

mod support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use opscope::profile::{Account, ProfilerOptions};
use opscope_bench::{Case, Goal, Judged, Measured, decide, finish, median, not_measured, times};
use opscope_job::benchmark::{CaptureSpec, Job, JobHooks};
use opscope_job::inputs::{NamedShape, ShapeSpec};
use opscope_job::verify::Verify;
use support::{NO_MODELS, light, models, smallest};

const EXPLAINED: Goal = Goal::AtLeast(99.0);
/// The number of profiles that an interval needs.
const PROFILES: usize = 9;

fn main() -> ExitCode {
    for name in ["squeezenet", "resnet50", "shufflenet", "densenet121"] {
        match light(name) {
            Some(path) => explained(name, &path),
            None => not_measured("account", &format!("operators explain, {name}"), EXPLAINED, "%", NO_MODELS),
        }
    }
    gap();
    leader();
    finish()
}

fn account(path: &Path, loops: u64, shapes: ShapeSpec) -> Account {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let mut job = Job::new(path);
    job.repetition.loops = loops;
    job.repetition.warmups = 2;
    job.verify.when = Verify::Off;
    job.shapes = vec![shapes];
    job.capture = CaptureSpec::Profile {
        directory: PathBuf::from(directory.path()).join("recording"),
        options: Box::new(ProfilerOptions::default()),
        exports: opscope::profile::Format::ALL.to_vec(),
        timeline_runs: opscope::profile::TimelineRuns::default(),
    };
    let report = job.run(&JobHooks::default()).expect("the model runs");
    report.profile.and_then(|profile| profile.account).expect("there is an account")
}

/// Takes numbers from `PROFILES` accounts at a time until the goal is decided. Returns the judged first number, and the
/// medians of all.
fn of_accounts<const N: usize>(
    goal: Goal,
    account: impl Fn() -> Account,
    numbers: impl Fn(&Account) -> [f64; N],
) -> (Judged, [f64; N]) {
    let mut samples: [Vec<f64>; N] = [const { Vec::new() }; N];
    let judged = decide(goal, || {
        for _ in 0..times(PROFILES, 1) {
            let numbers = numbers(&account());
            samples.iter_mut().zip(numbers).for_each(|(samples, number)| samples.push(number));
        }
        Judged::alone(Measured::of(&samples[0]))
    });
    (judged, samples.map(|samples| median(&samples)))
}

fn explained(name: &str, path: &Path) {
    let numbers = |account: &Account| {
        let shares = account.shares.as_ref().expect("runs and dispatches were recorded");
        [shares.operators.percent, shares.between.percent]
    };
    let (judged, [_, between]) = of_accounts(EXPLAINED, || account(path, 10, ShapeSpec::Smallest), numbers);
    let (case, peer) = (format!("operators explain, {name}"), ("between operators, %", between));
    Case { bench: "account", case, judged, unit: "%", peer, floor: None, goal: EXPLAINED }.print();
}

fn gap() {
    let goal = Goal::AtMost(100.0);
    let numbers = |account: &Account| {
        let shares = account.shares.as_ref().expect("runs and dispatches were recorded");
        [shares.median_between_ns_per_dispatch, shares.operators.percent]
    };
    let (judged, [_, operators]) = of_accounts(goal, || account(&smallest(), 5_000, ShapeSpec::Smallest), numbers);
    let (case, peer) = ("engine's gap per dispatch, digits_cnn".to_owned(), ("operators' share, %", operators));
    Case { bench: "account", case, judged, unit: "ns", peer, floor: None, goal }.print();
}

/// Checks that matrix products take more of a transformer's time than any other type.
fn leader() {
    let model = models().join("tiny_transformer.onnx");
    let shape = NamedShape { name: "hidden_states".to_owned(), dims: vec![4, 32, 64] };
    let numbers = |account: &Account| {
        let percent = |of: &dyn Fn(&str) -> bool| {
            account.op_types.iter().filter(|row| of(&row.op_type)).map(|row| row.percent).fold(0.0, f64::max)
        };
        let [products, others] = [percent(&|name| name == "MatMul"), percent(&|name| name != "MatMul")];
        [products / others, products]
    };
    let profile = || account(&model, 200, ShapeSpec::Fixed(vec![shape.clone()]));
    // They are at least this far ahead on the machines that were measured.
    let goal = Goal::AtLeast(1.05);
    let (judged, [_, products]) = of_accounts(goal, profile, numbers);
    let (case, peer) = ("MatMul to the next type of tiny_transformer".to_owned(), ("MatMul, %", products));
    Case { bench: "account", case, judged, unit: "x", peer, floor: None, goal }.print();
}
