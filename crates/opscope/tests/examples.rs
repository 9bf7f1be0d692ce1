//! The examples do what they say.

#[path = "../examples/debug.rs"]
mod debug;
#[path = "../examples/dump.rs"]
mod dump;
#[path = "../examples/profile.rs"]
mod profile;

use std::path::{Path, PathBuf};

fn model(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
}

#[test]
fn the_profile_says_where_the_time_goes_and_has_a_timeline() {
    let place = tempfile::tempdir().unwrap();
    let recording = place.path().join("recording");
    let text = profile::profile(&model("digits_cnn.onnx"), &model("digits_cnn.input.image.npy"), &recording).unwrap();
    assert!(text.contains("/conv2/Conv"), "{text}");
    assert!(recording.join("timeline.pftrace").metadata().unwrap().len() > 1000);
}

#[test]
fn the_dump_has_the_outputs_of_the_convolutions() {
    let place = tempfile::tempdir().unwrap();
    let dump = place.path().join("dump");
    let lines = dump::dump(&model("digits_cnn.onnx"), &model("digits_cnn.input.image.npy"), &dump).unwrap();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with("/conv1/Conv_output_0 [8, 8, 8, 8]"), "{lines:?}");
}

#[test]
fn the_debugger_stops_at_the_first_nan() {
    let found = debug::first_nan(&model("fixtures/nan.onnx"), &model("fixtures/nan.input.x.npy")).unwrap().unwrap();
    assert!(found.contains("#1 log (Log)") && found.ends_with("its input has the shape [3]"), "{found}");
    let digits = debug::first_nan(&model("digits_cnn.onnx"), &model("digits_cnn.input.image.npy")).unwrap();
    assert_eq!(digits, None);
}
