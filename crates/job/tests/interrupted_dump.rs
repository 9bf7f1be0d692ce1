//! A job whose dump ends before the last run. The dump says so, in every format.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::dump::{DumpFormat, Manifest, Request, StoredDump};
use opscope_job::benchmark::{CaptureSpec, Job, JobError, JobHooks, Report, Stage};

const RUNS: u64 = 5;

fn job(directory: PathBuf, format: &'static DumpFormat) -> Job {
    let mut job = Job::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/digits_cnn.onnx"));
    (job.repetition.warmups, job.repetition.loops) = (0, RUNS);
    job.capture = CaptureSpec::Dump { directory, request: Box::new(Request::default()), format, histograms: false };
    job
}

/// Runs the job, and cancels it when `when` returns true for its stage or its number of runs.
fn cancelled(job: &Job, when: impl Fn(Option<Stage>, u64) -> bool + Sync) -> Result<Report, JobError> {
    let cancel = Arc::new(AtomicBool::new(false));
    let cancel_if = |stage, runs| {
        if when(stage, runs) {
            cancel.store(true, Ordering::Relaxed);
        }
    };
    job.run(&JobHooks {
        cancel: &cancel,
        stage: &|stage| cancel_if(Some(stage), 0),
        fed: &|_, _| (),
        advanced: &|done, _| cancel_if(None, done),
        ..JobHooks::default()
    })
}

fn manifest(root: &Path) -> Manifest {
    serde_json::from_slice(&std::fs::read(root.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn a_dump_that_is_interrupted_between_two_runs_says_that_runs_are_missing() {
    for &format in DumpFormat::ALL {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("dump");
        let report = cancelled(&job(root.clone(), format), |_, runs| runs == 3).unwrap();
        assert!(!report.complete);
        let manifest = manifest(&root);
        assert!(!manifest.complete, "{format:?}");
        assert!(manifest.errors.iter().any(|error| error.contains("interrupted")), "{format:?}: {manifest:?}");
        assert_eq!(manifest.runs.len(), 3);
        assert!(manifest.runs.iter().all(|run| run.failure.is_none()), "every run that took place is whole");
        let stored = StoredDump::open(&root).unwrap();
        assert!(!stored.is_complete() && stored.problems.is_empty(), "{format:?}: {:?}", stored.problems);
        assert_eq!((manifest.tensors, stored.tensors.len()), (3 * 16, 3 * 16), "{format:?}");
    }
}

#[test]
fn a_dump_that_is_interrupted_inside_of_a_run_says_what_is_missing_of_it() {
    for &format in DumpFormat::ALL {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("dump");
        let ended = cancelled(&job(root.clone(), format), |stage, _| stage == Some(Stage::Running));
        assert!(matches!(&ended, Err(JobError::NoRuns { kept: Some(kept) }) if **kept == *root), "{ended:?}");
        let manifest = manifest(&root);
        assert!(!manifest.complete, "{format:?}");
        assert!(manifest.runs[0].failure.as_ref().unwrap().contains("interrupted"), "{manifest:?}");
        // The run ends before the first operator, and the input of that operator is kept.
        assert_eq!((manifest.tensors, manifest.missing_count), (1, 16), "{format:?}");
    }
}

#[test]
fn a_dump_of_all_runs_is_complete_in_every_format() {
    for &format in DumpFormat::ALL {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("dump");
        assert!(cancelled(&job(root.clone(), format), |_, _| false).unwrap().complete);
        let manifest = manifest(&root);
        assert!(manifest.complete && manifest.errors.is_empty(), "{manifest:?}");
        assert_eq!((manifest.tensors, manifest.runs.len() as u64), (16 * RUNS, RUNS));
        assert!(StoredDump::open(&root).unwrap().is_complete());
    }
}
