//! Whether the account of a run's time explains the run, and whether time by type is the truth.

mod support;

use std::path::{Path, PathBuf};

use opscope::benchmark::{CaptureSpec, Job, JobHooks};
use opscope::inputs::{NamedShape, ShapeSpec};
use opscope::profile::{Account, ProfilerOptions};
use opscope::verify::Verify;
use support::{Case, Goal, light, models, not_measured, smallest};

fn main() {
    for name in ["squeezenet", "resnet50", "shufflenet", "densenet121"] {
        let Some(path) = light(name) else {
            not_measured("account", &format!("operators explain, {name}"), ">= 99 %");
            continue;
        };
        let account = account(&path, 10, ShapeSpec::Smallest);
        explained(name, &account);
    }
    gap(&account(&smallest(), 5_000, ShapeSpec::Smallest));
    let shape = NamedShape { name: "hidden_states".to_owned(), dims: vec![4, 32, 64] };
    leader(&account(&models().join("tiny_transformer.onnx"), 200, ShapeSpec::Fixed(vec![shape])));
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

fn explained(name: &str, account: &Account) {
    let shares = account.shares.as_ref().expect("runs and dispatches were recorded");
    let sum = shares.operators.percent + shares.between.percent + shares.in_out.percent;
    Case {
        bench: "account",
        case: format!("operators explain, {name}"),
        value: shares.operators.percent,
        interval: None,
        unit: "%",
        peer: "operators + between + in/out, %".to_owned(),
        peer_value: sum,
        floor: None,
        goal: ">= 99 %, and the sum is 100 %".to_owned(),
        met: Goal::AtLeast(99.0).met(shares.operators.percent, None, 0.0) && (sum - 100.0).abs() < 0.01,
    }
    .print();
}

fn gap(account: &Account) {
    let shares = account.shares.as_ref().expect("runs and dispatches were recorded");
    let value = shares.median_between_ns_per_dispatch;
    Case {
        bench: "account",
        case: "engine's gap per dispatch, digits_cnn".to_owned(),
        value,
        interval: None,
        unit: "ns",
        peer: "operators' share, %".to_owned(),
        peer_value: shares.operators.percent,
        floor: None,
        goal: "<= 100 ns".to_owned(),
        met: Goal::AtMost(100.0).met(value, None, 0.0),
    }
    .print();
}

fn leader(account: &Account) {
    let leader = &account.op_types[0];
    Case {
        bench: "account",
        case: format!("{} leads the types of tiny_transformer", leader.op_type),
        value: leader.percent,
        interval: None,
        unit: "%",
        peer: account.op_types.get(1).map_or("-".to_owned(), |second| format!("{}, %", second.op_type)),
        peer_value: account.op_types.get(1).map_or(0.0, |second| second.percent),
        floor: None,
        goal: "MatMul leads".to_owned(),
        met: leader.op_type == "MatMul",
    }
    .print();
}
