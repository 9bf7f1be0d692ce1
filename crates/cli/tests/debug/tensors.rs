//! Tensors at a stop: shown, saved, changed, skipped.

use std::fs;

use opscope::tensor::{Tensor, npy};

use super::process::tensors::{close, near, numbers, read};
use super::process::{Workplace, fixture, model};
use super::{batch, digits, in_order};

#[test]
fn what_is_saved_at_a_stop_is_what_the_model_is_known_to_compute() {
    let place = Workplace::new();
    let commands =
        ["break /conv2/Conv after", "run", "save output[0] conv2.npy", "save input[0][3, :, ::2, -1] part.npy"];
    digits(&place, &commands);
    let expected = |value: &str| {
        let index = model("expected/digits_cnn/index.json");
        let index: serde_json::Value = serde_json::from_str(&fs::read_to_string(index).unwrap()).unwrap();
        let file =
            index["values"][value]["file"].as_str().unwrap_or_else(|| panic!("{value} is not in {index}")).to_owned();
        read(model(&format!("expected/digits_cnn/{file}")))
    };
    let found = read(place.path("conv2.npy"));
    assert!(close(&found, &expected("/conv2/Conv_output_0")));
    let whole = expected("/relu1/Relu_output_0");
    let (part, all) = (read(place.path("part.npy")), numbers(&whole));
    assert_eq!(part.shape(), [8, 4]);
    let chosen = (0..8).flat_map(|channel| (0..4).map(move |row| ((3 * 8 + channel) * 8 + 2 * row) * 8 + 7));
    assert!(near(&numbers(&part), &chosen.map(|index| all[index]).collect::<Vec<_>>()));
}

#[test]
fn a_tensor_that_is_set_changes_what_the_model_computes() {
    let place = Workplace::new();
    let text = digits(
        &place,
        &[
            "break Softmax",
            "run",
            "set input[0] = 0",
            "info inputs",
            "finish",
            "save output[0] even.npy",
            "set output[0][0, 3] = 0.5",
            "print output[0][0, 3]",
            "continue",
        ],
    );
    in_order(&text, &["input[0] is replaced", "replaced", "output[0] is replaced", "\n0.5\n", "Run 0 ended"]);
    // This is the softmax of zeros.
    assert!(near(&numbers(&read(place.path("even.npy"))), &[0.1; 80]));
}

#[test]
fn a_tensor_from_a_file_takes_the_place_of_another() {
    let place = Workplace::new();
    let logits = Tensor::from_f32(vec![8, 10], &[0.0f32; 80].map(|_| 3.0)).unwrap();
    let mut bytes = Vec::new();
    npy::write(&logits.view(), &mut bytes).unwrap();
    place.write("logits of mine.npy", bytes);
    let commands = ["b Softmax", "r", "set input[0] = \"logits of mine.npy\"", "finish", "save output[0] even.npy"];
    digits(&place, &commands);
    assert!(near(&numbers(&read(place.path("even.npy"))), &[0.1; 80]));
}

#[test]
fn a_skipped_operator_is_not_executed_and_its_outputs_are_the_given_ones() {
    let place = Workplace::new();
    let output = read(model("digits_cnn.output.probabilities.npy"));
    let mut bytes = Vec::new();
    npy::write(&output.view(), &mut bytes).unwrap();
    place.write("given.npy", bytes);
    let commands = ["b Relu", "b Softmax after", "r", "delete 1", "skip zeros", "topk output[0] 1"];
    let text = digits(&place, &commands);
    in_order(&text, &["before #2 /relu1/Relu", "after #15", "  0."]);
    let commands = ["b Softmax", "r", "skip given.npy"];
    assert!(digits(&place, &commands).contains("Run 0 ended"));
    let refused = ["b Softmax", "r", "skip zeros given.npy"];
    let ended = batch(&place, &[&model("digits_cnn.onnx")], &refused);
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn functions_of_a_tensor_are_printed_as_conditions_have_them() {
    let place = Workplace::new();
    let x = fixture("nan.input.x.npy");
    let commands = [
        "print max(one)",
        "break #1 after",
        "run",
        "print nan(output[0])",
        "p inf(b)",
        "p absmax(input[0][:2])",
        "p shape(output)",
        "p rank(output)",
        "p dtype(output)",
        "p min(output[0][:2])",
        "-p max(nothing)",
    ];
    let ended = batch(&place, &[&fixture("nan.onnx"), "--input", &x], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(
        &ended.stdout,
        &[
            "max(value(\"one\")) = 1\n",
            "nan(output[0]) = 1\n",
            "inf(value(\"b\")) = 1\n",
            "absmax(input[0][:2]) = 1\n",
            "shape(output[0]) = [3]\n",
            "rank(output[0]) = 1\n",
            "dtype(output[0]) = float32\n",
            "min(output[0][:2]) = none: there is no finite element\n",
        ],
    );
    ended.says(&["no value of this name"]);
}

#[test]
fn the_outputs_of_a_run_that_has_ended_can_be_read() {
    let place = Workplace::new();
    let (nan, input) = (fixture("nan.onnx"), fixture("nan.input.x.npy"));
    let commands = [
        "run",
        "print z",
        "print output[1]",
        "stats output[0]",
        "print max(z)",
        "save z z.npy",
        "break tail",
        "run",
        "-print y",
        "continue",
    ];
    let text = batch(&place, &[&nan, "--input", &input], &commands).stdout;
    in_order(
        &text,
        &[
            "Run 0 ended: y float32 [3] with 1 NaN and 1 infinite, z float32 [3] with 1 infinite",
            "value(\"z\")  float32 [3]\n[-1.   inf  0.5]",
            "output[1]  float32 [3]\n[-1.   inf  0.5]",
            "NaN       1",
            "max(value(\"z\")) = 0.5",
            "before #2 tail (Mul), run 1",
            "Run 1 ended",
        ],
    );
    assert_eq!(read(place.path("z.npy")).shape(), [3]);
    assert!(
        !text.contains("value(\"y\")  float32"),
        "a stopped run has no y yet, and that of run 0 is not shown: {text}"
    );
}
