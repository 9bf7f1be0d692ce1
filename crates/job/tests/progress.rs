//! The progress that a job reports, for each goal.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opscope_job::benchmark::{Goal, Job, JobHooks, Repetition, Report};

/// Runs a small model, and returns the report with the progress after every run.
fn run(repeat: impl FnOnce(&mut Repetition)) -> (Report, Vec<(u64, Goal)>) {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/digits_cnn.onnx");
    let mut job = Job::new(model);
    repeat(&mut job.repetition);
    let said = Mutex::new(Vec::new());
    let hooks = JobHooks {
        cancel: &Arc::default(),
        stage: &|_| (),
        fed: &|_, _| (),
        advanced: &|done, goal| said.lock().unwrap().push((done, goal)),
        ..JobHooks::default()
    };
    let report = job.run(&hooks).unwrap();
    (report, said.into_inner().unwrap())
}

#[test]
fn a_number_of_runs_is_counted() {
    let (_, said) = run(|repetition| repetition.loops = 3);
    assert_eq!(said, [1, 2, 3].map(|done| (done, Goal::Runs(3))));
}

#[test]
fn a_duration_is_counted_after_the_runs_that_were_asked_for() {
    let all = Duration::from_millis(50);
    let begin = Instant::now();
    let (report, said) = run(|repetition| (repetition.loops, repetition.duration) = (4, Some(all)));
    assert!(begin.elapsed() >= all);
    assert_eq!(said[..3], [1, 2, 3].map(|done| (done, Goal::Runs(4))));
    let passed = said[3..].iter().map(|(_, goal)| match goal {
        Goal::Time { passed, all: told } if *told == all => *passed,
        other => panic!("{other:?}"),
    });
    // The last run may end before the time is over, and the next one would begin after that.
    assert!(passed.clone().is_sorted() && passed.max() > Some(Duration::ZERO), "{said:?}");
    assert_eq!(said.len(), report.measurements[0].compute.count);
}

#[test]
fn until_stable_reports_how_stable_the_median_is_and_when_it_ends() {
    let most = Duration::from_millis(200);
    let (report, said) = run(|repetition| (repetition.until_stable, repetition.duration) = (Some(1e-7), Some(most)));
    assert!(!report.complete);
    let mut widths = Vec::new();
    for (_, goal) in &said {
        let Goal::Stable { width, wanted, most: told, .. } = goal else { panic!("{goal:?}") };
        assert_eq!((*wanted, *told), (1e-7, most));
        widths.extend(*width);
    }
    assert!(matches!(said[0].1, Goal::Stable { width: None, .. }), "one run has no interval");
    assert!(!widths.is_empty() && widths.iter().all(|width| *width > 1e-7), "{widths:?}");
}
