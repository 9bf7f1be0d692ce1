//! What callbacks do while they are called, and what happens around them: calls of the library, exceptions, slowness,
//! forks.

use std::collections::BTreeSet;

use opscope_c_programs::Language;

use super::scene::{Played, Scene};
use super::streams::{Content, DumpPath, Stream};

const LOAD: &str = "load=0,MODELS/digits_cnn.onnx";
const RUN: &str = "run=0,MODELS/digits_cnn.input.image.npy";
const TOKENS: &str = "load=1,MODELS/token_classifier.onnx";
const RUN_TOKENS: &str = "run=1,MODELS/token_classifier.input.input_ids.npy";
const SETTINGS: &str = r#"{"dump_path": "dump", "dump_list": [{}]}"#;

fn digits(model_id: u32, runs: usize) -> Content {
    Content::outputs("digits_cnn.onnx", model_id, &vec![&["digits_cnn.input.image.npy"][..]; runs])
}

fn tokens(model_id: u32) -> Content {
    Content::outputs("token_classifier.onnx", model_id, &[&["token_classifier.input.input_ids.npy"]])
}

/// Makes every piece wait until the callback has taken the one before it.
fn narrow(steps: &str) -> Scene {
    Scene::new(&format!("queue=1 piece=64 {steps}")).dumps("acl.json", SETTINGS)
}

/// Returns the files under a directory of the program.
fn files(played: &Played, below: &str) -> Vec<Stream> {
    let named = |file: Stream| Stream { name: format!("{below}/{}", file.name), ..file };
    played.files(below).into_iter().map(named).collect()
}

/// Checks that all tensors are among these.
#[track_caller]
fn is_a_part(of: &Content, got: &Content) {
    assert!(!got.0.is_empty());
    for (place, value) in &got.0 {
        assert_eq!(of.0.get(place), Some(value), "{place:?}");
    }
}

#[test]
fn a_callback_asks_for_what_it_needs() {
    narrow(&format!("init initdump reg inside=asks {LOAD} {RUN} inside=open+asks+report {RUN} unreg report finalize"))
        .play(|played| {
            assert_eq!(played.stderr, "");
            let (inside, end) = played.stdout.split_once('\n').expect("two lines");
            assert!(inside.ends_with(" files, 0 incomplete, 0 chunks lost"), "{inside}");
            assert_eq!(end, "32 files, 0 incomplete, 0 chunks lost\n");
            played.content().is(&digits(1, 2));
        });
}

#[test]
fn a_callback_that_takes_itself_back_is_not_called_again() {
    // It receives no end of the file whose first piece it took. Later files are written to the disk, if there is a
    // path.
    for (init, to_disk) in [("init=acl.json", true), ("init initdump", false)] {
        narrow(&format!("{init} reg inside=unreg {LOAD} {RUN} {RUN} finalize report")).play(|played| {
            let gone = "the callback was removed before the end of ";
            assert!(played.stderr.lines().count() == 1 && played.stderr.contains(gone), "{}", played.stderr);
            assert_eq!(played.streams.len(), 1);
            let path = DumpPath::parse(&played.streams[0].name);
            assert!(played.stdout.contains("1 files never ended"), "{}", played.stdout);
            let mut rest = digits(1, 2);
            rest.0.retain(|(_, index, operator, ..), _| {
                (*index, operator.replace('/', "_")) != (path.index, path.op_name.clone())
            });
            assert_eq!(rest.0.len(), 31);
            let expected = if to_disk { rest } else { Content::default() };
            Content::of(&files(played, "dump")).is(&expected);
        });
    }
}

#[test]
fn a_callback_that_takes_itself_back_and_registers_again_gets_the_next_files() {
    // A whole file is one piece.
    let steps = format!("queue=1 init initdump reg inside=unreg+reg {LOAD} {RUN} {RUN} finalizedump unreg report");
    Scene::new(&steps).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("32 files, 0 incomplete, 0 chunks lost\n", ""));
        played.content().is(&digits(1, 2));
    });
}

#[test]
fn a_callback_ends_the_dump_while_the_run_waits_for_it() {
    for end in ["finalizedump", "finalize", "finalizedump+initdump", "finalize+init"] {
        narrow(&format!("init initdump reg inside={end} {LOAD} {RUN} report unreg")).play(|played| {
            assert_eq!(played.stderr, "", "{end}");
            let files = played.streams.len();
            assert_eq!(played.stdout, format!("{files} files, 0 incomplete, 0 chunks lost\n"), "{end}");
            is_a_part(&digits(1, 1), &played.content());
            assert!(files < 16, "{end}");
        });
    }
    // A model is unloaded when its run has ended.
    narrow(&format!("init initdump reg inside=unload=0+unload=0 {LOAD} {RUN} report unreg")).play(|played| {
        assert_eq!(played.stderr, "");
        let (again, rest) = played.stdout.split_once('\n').expect("two lines");
        assert!(again.starts_with("unload: 145003 "), "{again}");
        assert_eq!(rest, "16 files, 0 incomplete, 0 chunks lost\n");
        played.content().is(&digits(1, 1));
    });
}

#[test]
fn a_callback_runs_a_model_whose_tensors_come_later() {
    let steps = format!("init initdump reg {LOAD} {TOKENS} inside=open+{RUN_TOKENS} {RUN} unreg report finalize");
    narrow(&steps).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("30 files, 0 incomplete, 0 chunks lost\n", ""));
        played.content().is(&digits(1, 1).and(tokens(2)));
    });
}

#[test]
fn a_callback_does_not_wait_for_streams() {
    let start = RUN.replace("run=", "start=");
    let steps = format!("init initdump reg inside=open+wait {LOAD} {start} wait unreg report finalize");
    narrow(&steps).play(|played| {
        let (refused, rest) = played.stdout.split_once('\n').expect("two lines");
        assert!(refused.starts_with("wait: 207000 EE1003: "), "{refused}");
        assert_eq!((rest, &*played.stderr), ("16 files, 0 incomplete, 0 chunks lost\n", ""));
        played.content().is(&digits(1, 1));
    });
}

#[test]
fn an_exception_of_a_callback_is_said_and_loses_nothing() {
    let steps = format!("init initdump reg throw {LOAD} {RUN} throw {RUN} unreg report finalize");
    narrow(&steps).only(Language::Cxx17).play(|played| {
        assert_eq!(played.stdout, "32 files, 0 incomplete, 0 chunks lost\n");
        let lines: Vec<&str> = played.stderr.lines().collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("the dump callback")), "{lines:?}");
        played.content().is(&digits(1, 2));
    });
}

#[test]
fn what_a_callback_answers_changes_nothing() {
    for answer in ["1", "-1", "500000"] {
        let steps = format!("init initdump reg answer={answer} {LOAD} {RUN} unreg report finalize");
        Scene::new(&steps).play(|played| {
            assert_eq!((&*played.stdout, &*played.stderr), ("16 files, 0 incomplete, 0 chunks lost\n", ""));
            played.content().is(&digits(1, 1));
        });
    }
}

#[test]
fn a_slow_callback_loses_nothing_however_little_may_wait() {
    // The dump has more than 300,000 bytes; a piece takes more than 4,000.
    for queue in [0, 1, 10_000, 50_000] {
        let steps =
            format!("queue={queue} piece=4096 init initdump reg slow=1 {LOAD} {TOKENS} {RUN} {RUN_TOKENS} {RUN}");
        Scene::new(&format!("{steps} unreg report finalize")).play(|played| {
            assert_eq!(played.stderr, "");
            assert_eq!(played.stdout, "46 files, 0 incomplete, 0 chunks lost\n");
            played.content().is(&digits(1, 2).and(tokens(2)));
        });
    }
}

#[test]
fn a_fork_leaves_the_dump_to_the_parent() {
    // The child ends everything, but that belongs to the parent.
    let ends = "unreg+report+finalizedump+finalize";
    let start = RUN.replace("run=", "start=");
    let steps = format!(
        "piece=1024 init initdump reg slow=2 {LOAD} {start} fork=report fork={ends} fork=finalize fork=unload=0 wait"
    );
    narrow(&format!("{steps} {RUN} fork={ends} {RUN} unreg report finalize")).play(|played| {
        assert_eq!(played.stderr, "");
        assert!(played.stdout.ends_with("48 files, 0 incomplete, 0 chunks lost\n"), "{}", played.stdout);
        played.content().is(&digits(1, 3));
    });
    // Nor is it written twice.
    let steps =
        format!("piece=1024 init=acl.json {LOAD} {start} fork=report fork={ends} wait {RUN} fork=report finalize");
    narrow(&steps).play(|played| {
        assert_eq!(played.stderr, "");
        Content::of(&files(played, "dump")).is(&digits(1, 2));
    });
}

#[test]
fn the_child_of_a_fork_has_dumps_of_its_own() {
    let other = r#"{"dump_path": "other", "dump_list": [{}]}"#;
    let start = RUN.replace("run=", "start=");
    let child = format!("finalize+init=other.json+open+{TOKENS}+{RUN_TOKENS}+finalize+report");
    let steps =
        format!("piece=1024 init initdump reg slow=2 {LOAD} {start} fork=unreg+{child} wait unreg report finalize");
    narrow(&steps).dumps("other.json", other).play(|played| {
        assert_eq!(played.stderr, "");
        assert_eq!(played.stdout, "14 files, 0 incomplete, 0 chunks lost\n16 files, 0 incomplete, 0 chunks lost\n");
        played.content().is(&digits(1, 1));
        let files = files(played, "other");
        let ids: BTreeSet<u32> = files.iter().map(|file| DumpPath::parse(&file.name).model_id).collect();
        assert_eq!(ids, BTreeSet::from([2]));
        Content::of(&files).is(&tokens(2));
    });
}

#[test]
fn a_callback_that_forks_returns_in_the_parent_only() {
    let steps = format!("piece=1024 init initdump reg {LOAD} inside=forkandreturn {RUN} inside=fork=report {RUN}");
    narrow(&format!("{steps} unreg report finalize")).play(|played| {
        assert_eq!(played.stderr, "");
        let expected = "0 files, 0 incomplete, 0 chunks lost\n32 files, 0 incomplete, 0 chunks lost\n";
        assert_eq!(played.stdout, expected);
        played.content().is(&digits(1, 2));
    });
}

#[test]
fn a_program_ends_its_dump_when_the_process_ends() {
    let ends = "atexit=unreg+report+finalizedump+unload=0+finalize";
    narrow(&format!("init initdump reg slow=1 piece=4096 {LOAD} {RUN} {ends}")).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("16 files, 0 incomplete, 0 chunks lost\n", ""));
        played.content().is(&digits(1, 1));
    });
    // The same is true for files, which are written before that.
    narrow(&format!("init=acl.json {LOAD} {RUN} atexit=report+unload=0+finalize")).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("16 files, 0 incomplete, 0 chunks lost\n", ""));
        Content::of(&files(played, "dump")).is(&digits(1, 1));
    });
}
