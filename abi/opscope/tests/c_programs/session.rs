//! Sessions, models and tensors.

use super::run;

#[test]
fn a_model_is_loaded_described_and_run() {
    insta::assert_snapshot!(run("session.c", &["digits_cnn.onnx", "digits_cnn.input.image.npy"]));
}
