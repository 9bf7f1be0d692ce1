//! Recordings of runs, which are made in addition to dumps.

use std::fs;

use opscope::profile::Recording;

use super::scene::{Played, Scene};
use super::streams::{Content, Stream};

const LOAD: &str = "load=0,MODELS/digits_cnn.onnx";
const RUN: &str = "run=0,MODELS/digits_cnn.input.image.npy";
const START: &str = "start=0,MODELS/digits_cnn.input.image.npy";
const PROFILER: &str = r#""profiler": {"switch": "on", "output": "other"}"#;

/// Steps of a program whose models are recorded.
fn recorded(steps: &str) -> Scene {
    let dump = r#""dump": {"dump_path": "dump", "dump_list": [{}]}"#;
    Scene::new(steps).with("acl.json", format!("{{{PROFILER}}}")).with("both.json", format!("{{{PROFILER}, {dump}}}"))
}

/// Returns the runs of each recording, which must be complete.
#[track_caller]
fn runs(played: &Played) -> Vec<u64> {
    let recordings = fs::read_dir(played.directory.path().join("other")).expect("a directory").flatten();
    let runs = |recording: fs::DirEntry| {
        let account = Recording::open(recording.path()).expect("a recording").account().expect("it can be read");
        assert!(account.complete, "{}", played.stderr);
        account.runs.measured
    };
    recordings.map(runs).collect()
}

fn digits(runs: usize) -> Content {
    Content::outputs("digits_cnn.onnx", 1, &vec![&["digits_cnn.input.image.npy"][..]; runs])
}

#[test]
fn a_program_that_exits_without_an_end_has_a_whole_recording() {
    recorded(&format!("init=acl.json {LOAD} {RUN} {RUN}")).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        assert_eq!(runs(played), [2]);
    });
}

#[test]
fn a_run_that_is_queued_when_its_model_is_unloaded_is_recorded() {
    recorded(&format!("init=acl.json {LOAD} {START} unload=0 wait finalize")).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        assert_eq!(runs(played), [1]);
    });
}

#[test]
fn a_model_is_recorded_and_dumped_at_once() {
    recorded(&format!("init=both.json {LOAD} {RUN} reg {RUN} unreg finalize")).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        assert_eq!(runs(played), [2]);
        let named = |file: Stream| Stream { name: format!("dump/{}", file.name), ..file };
        let files: Vec<Stream> = played.files("dump").into_iter().map(named).collect();
        assert_eq!((files.len(), played.streams.len()), (16, 16));
        Content::of(&files).and(played.content()).is(&digits(2));
    });
}

#[test]
fn a_fork_leaves_the_recording_to_the_parent() {
    let child = "fork=unload=0 fork=finalize fork=report";
    recorded(&format!("init=both.json {LOAD} {RUN} {child} {START} {child} wait {RUN} finalize")).play(|played| {
        assert_eq!(played.stderr, "");
        assert_eq!(runs(played), [3]);
    });
}
