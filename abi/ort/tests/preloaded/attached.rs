//! Dumps and recordings that a command asks for while the program runs.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use opscope_debug::client::Client;
use opscope_debug::{Capture, CaptureKind, CaptureNote, ErrorCode};
use opscope_dump::StoredDump;
use opscope_profile::Recording;
use serde_json::{json, to_value};

use crate::debugger::{connect, serving};
use crate::support::{CALLS, Way, model};

fn asked(client: &Client, capture: CaptureKind, directory: PathBuf) -> Capture {
    let capture = Capture { capture, note: directory.with_extension("note"), directory };
    client.instrument(to_value(&capture).expect("JSON")).expect("the program makes it");
    capture
}

/// Waits for the note of a capture.
fn note(capture: &Capture) -> CaptureNote {
    while !capture.note.exists() {
        thread::sleep(Duration::from_millis(5));
    }
    serde_json::from_slice(&fs::read(&capture.note).expect("the note")).expect("a note")
}

#[test]
fn a_dump_and_a_recording_of_a_running_program_are_whole_and_change_nothing_that_it_computes() {
    for call in CALLS {
        let place = tempfile::tempdir().expect("a directory");
        let socket = place.path().join("socket");
        let Some(mut running) = serving(Way::Linked, call, &socket) else { return };
        let before = running.line();
        let client = connect(&socket);
        let whole = CaptureNote { model: model("digits_cnn.onnx"), error: None };

        let dump = asked(&client, CaptureKind::Dump, place.path().join("out/dump/a"));
        assert_eq!(note(&dump), whole, "{call}");
        let stored = StoredDump::open(&dump.directory).expect("a dump");
        assert!(stored.is_complete() && stored.tensors.len() > 15, "{call}: {} tensors", stored.tensors.len());

        let recording = asked(&client, CaptureKind::Profile, place.path().join("out/profiler/a"));
        assert_eq!(note(&recording), whole, "{call}");
        let account = Recording::open(&recording.directory).expect("a recording").account().expect("an account");
        assert!(account.complete && account.runs.measured > 0, "{call}");

        let ended = running.end();
        assert!(ended.stdout.lines().all(|line| line == before), "{call}: {ended:?}");
    }
}

#[test]
fn a_program_that_ends_meanwhile_ends_as_it_would_and_what_was_begun_is_whole() {
    for capture in [CaptureKind::Profile, CaptureKind::Dump] {
        for _ in 0..8 {
            let place = tempfile::tempdir().expect("a directory");
            let socket = place.path().join("socket");
            let Some(mut running) = serving(Way::Opened, "-DPLAIN", &socket) else { return };
            running.line();
            let capture = asked(&connect(&socket), capture, place.path().join("begun"));
            while !capture.directory.exists() {
                thread::sleep(Duration::from_millis(1));
            }
            running.end();
            assert!(capture.note.exists(), "the program's end did not wait");
            assert_eq!(note(&capture).error, None);
            match capture.capture {
                CaptureKind::Profile => {
                    let recording = Recording::open(&capture.directory).expect("a recording");
                    assert!(recording.manifest().complete, "{:?}", recording.problems());
                }
                _ => assert!(StoredDump::open(&capture.directory).expect("a dump").is_complete()),
            }
        }
    }
}

#[test]
fn what_cannot_be_made_is_told_and_what_is_taken_back_is_not_made() {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let Some(mut running) = serving(Way::Linked, "-DPLAIN", &socket) else { return };
    running.line();
    let client = connect(&socket);
    // Neither the words of another kind of program, nor a misspelled field.
    for other in [json!({"what": "dump"}), json!({"capture": "dump", "directory": "/x", "note": "/y", "steps": 1})] {
        assert_eq!(client.instrument(other).unwrap_err().code(), ErrorCode::Instrument);
    }
    fs::write(place.path().join("file"), "").expect("a file");
    let impossible = asked(&client, CaptureKind::Dump, place.path().join("file/dump"));
    // Its note is beside what cannot be made, so only the program's line is left.
    let mut line = running.error_line();
    while !line.contains("cannot be told") {
        line = running.error_line();
    }
    assert!(!impossible.note.exists());
    let taken = place.path().join("taken");
    fs::create_dir(&taken).expect("a directory");
    fs::write(taken.join("mine"), "").expect("a file");
    let refused = asked(&client, CaptureKind::Profile, taken.clone());
    let refused = note(&refused).error.expect("the directory is taken");
    assert!(refused.contains("taken"), "{refused}");
    assert!(taken.join("mine").exists());
    running.end();
}

#[test]
fn what_is_given_up_is_whole_or_not_begun_and_others_are_made() {
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    let Some(mut running) = serving(Way::Linked, "-DPLAIN", &socket) else { return };
    running.line();
    let client = connect(&socket);
    let given_up = asked(&client, CaptureKind::Dump, place.path().join("given-up"));
    let nothing = Capture { capture: CaptureKind::Nothing, ..given_up.clone() };
    client.instrument(to_value(&nothing).expect("JSON")).expect("it is understood");
    let later = asked(&client, CaptureKind::Dump, place.path().join("later"));
    assert_eq!(note(&later).error, None);
    // It may have begun before, with the program's next run.
    if given_up.directory.exists() {
        assert_eq!(note(&given_up).error, None);
    }
    running.end();
}
