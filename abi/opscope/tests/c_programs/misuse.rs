//! Calls that the library refuses.

use super::run;

#[test]
fn every_misuse_is_answered_and_nothing_breaks() {
    run("misuse.c", &["digits_cnn.onnx"]);
}
