//! Programs that are killed.

use std::thread;
use std::time::Duration;

use opscope_c_programs::Language;
use opscope_dump::StoredDump;
use opscope_profile::{Recording, close_abandoned};
use opscope_tensor::npy;

use crate::support::{Way, model, onnxruntime, preloaded};

#[test]
fn a_program_that_is_killed_or_ended_by_a_signal_leaves_its_recording_and_its_dump() {
    let Some(library) = onnxruntime() else { return };
    for signal in ["-KILL", "-TERM"] {
        let place = tempfile::tempdir().expect("a directory");
        let [profile, dump] = ["profile", "dump"].map(|name| place.path().join(name));
        let program = preloaded(library.digits(Way::Linked, "serve", 1, 1));
        let program = program.with("OPSCOPE_PROFILE", profile.to_str().expect("UTF-8"));
        let mut running = program.with("OPSCOPE_DUMP", dump.to_str().expect("UTF-8")).start(Language::C11);
        // Its first run is over.
        running.line();
        running.signal(signal);
        let recording = Recording::open(profile.join("digits_cnn")).expect("a recording");
        assert!(recording.account().expect("an account").complete, "{:?}", recording.problems());
        let stored = StoredDump::open(&dump.join("digits_cnn")).expect("a dump");
        assert!(stored.tensors.iter().any(|tensor| tensor.place.operator.as_deref() == Some("/Softmax")));
    }
}

#[test]
fn a_recording_that_a_kill_has_cut_has_every_run_until_then() {
    let Some(library) = onnxruntime() else { return };
    let (path, input) = (model("tiny_transformer.onnx"), model("tiny_transformer.input.hidden_states.npy"));
    let shape =
        npy::read_file(input.as_ref()).expect("an array").shape().iter().map(usize::to_string).collect::<Vec<_>>();
    let program = library.program("sessions.c", Way::Opened);
    let program = program.arguments(["file", &path, "hidden_states", &input, &shape.join(",")]);
    let program = preloaded(program.arguments(["last_hidden_state", "1", "1"]));
    // The kill may come too late.
    let was_cut = |attempt: usize| {
        let place = tempfile::tempdir().expect("a directory");
        let directory = place.path().join("tiny_transformer");
        let mut running =
            program.clone().with("OPSCOPE_PROFILE", place.path().to_str().expect("UTF-8")).start(Language::C11);
        while !directory.join("buffer.bin").exists() && !directory.join("op_summary.csv").exists() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(5 * attempt as u64));
        running.signal("-KILL");
        if Recording::open(&directory).is_ok_and(|recording| recording.manifest().complete) {
            return false;
        }
        close_abandoned(&directory, "it was killed").expect("a recording");
        let recording = Recording::open(&directory).expect("a recording");
        let account = recording.account().expect("an account");
        assert!(!account.complete);
        account.runs.measured + account.runs.warm_up > 0
    };
    assert!((0..40).any(was_cut), "no recording had runs when its program was killed");
}
