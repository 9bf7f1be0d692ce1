//! Gears that the user sets for models, in the form that the vendor's converter accepts.

use std::fs;

use tempfile::TempDir;

use super::models::{SHAPES, run};

const BATCH: &str = "OPSCOPE_ACL_DYNAMIC_BATCH";
const IMAGE_SIZE: &str = "OPSCOPE_ACL_DYNAMIC_IMAGE_SIZE";
const DIMS: &str = "OPSCOPE_ACL_DYNAMIC_DIMS";

/// A field of a protobuf message.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).ok().filter(|length| *length < 128).expect("a short field");
    [&[number << 3 | 2, length], bytes].concat()
}

/// A model of one `Relu`, whose height and width are free.
fn relu() -> Vec<u8> {
    let dim = |name: &str| field(1, &field(2, name.as_bytes()));
    let fixed = |size: u8| field(1, &[8, size]);
    let shape = [fixed(1), fixed(2), dim("height"), dim("width")].concat();
    let value = |name: &str| {
        let tensor = [&[8, 1][..], &field(2, &shape)].concat();
        [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
    };
    let node = [field(1, b"x"), field(2, b"y"), field(3, b"relu"), field(4, b"Relu")].concat();
    let graph = [field(1, &node), field(2, b"relu"), field(11, &value("x")), field(12, &value("y"))].concat();
    let opset = field(8, &[16, 13]);
    [&[8, 8][..], &[7 << 3 | 2, 0x80 | (graph.len() & 0x7f) as u8, (graph.len() >> 7) as u8], &graph, &opset].concat()
}

#[test]
fn batch_sizes_are_listed_and_chosen_for_a_run() {
    assert_eq!(run("gears.c", &["batch", "digits_cnn.onnx"], &[(BATCH, "1,8, 3")]), "");
    // The converter receives this together with the gears: the dimension stays open.
    let shape = [(BATCH, "1,8,3"), (SHAPES, "image:-1,1,8,8")];
    assert_eq!(run("gears.c", &["batch", "digits_cnn.onnx"], &shape), "");
}

#[test]
fn runs_with_gears_are_dumped_as_others() {
    assert_eq!(run("gears.c", &["batch", "digits_cnn.onnx"], &[(BATCH, "1,8,3"), ("DUMP", "on")]), "");
}

#[test]
fn heights_and_widths_are_listed_and_chosen_for_a_run() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("relu.onnx");
    fs::write(&path, relu()).expect("a file");
    assert_eq!(run("gears.c", &["image", path.to_str().expect("UTF-8")], &[(IMAGE_SIZE, "2,3;4,2")]), "");
}

#[test]
fn sizes_of_all_free_dimensions_are_listed_and_chosen_for_a_run() {
    assert_eq!(run("gears.c", &["dims", "token_classifier.onnx"], &[(DIMS, "4,41;1,41")]), "");
}

#[test]
fn gears_that_do_not_fit_a_model_keep_it_from_being_loaded_and_say_why() {
    let why = |model: &str, variables: &[(&'static str, &str)]| run("gears.c", &["wrong", model], variables);
    let printed = why("token_classifier.onnx", &[(BATCH, "1,2")]);
    let reason = "only the first dimension of an input may be free; input 'input_ids' has the shape [batch, sequence]";
    assert!(printed.starts_with("145021 EH0001: value '1,2' of argument OPSCOPE_ACL_DYNAMIC_BATCH"), "{printed}");
    assert!(printed.contains(reason) && printed.contains("OPSCOPE_ACL_INPUT_SHAPE fixes the others"), "{printed}");
    let printed = why("digits_cnn.onnx", &[(BATCH, "1"), (DIMS, "1")]);
    assert!(printed.contains("OPSCOPE_ACL_DYNAMIC_DIMS is set too"), "{printed}");
    let printed = why("digits_cnn.onnx", &[(SHAPES, "image:-1,1,-1,8")]);
    assert!(printed.contains("input 'image' has the shape [batch, 1, 8, 8]"), "{printed}");
    // A model whose shapes are fixed has no gears.
    assert_eq!(why("digits_cnn.onnx", &[(BATCH, "1,2"), (SHAPES, "image:4,1,8,8")]), "0 (null)\n");
}
