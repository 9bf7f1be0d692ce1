//! `opscope compare` with golden outputs, and with several sets of inputs.

mod process;

use std::fs;

use process::onnx::with_changed_initializer;
use process::{Workplace, csv, model, rows};

/// The operators of the model that these tests run, each with one output.
const TENSORS: usize = 16;

#[test]
fn golden_arrays_are_matched_as_a_whole_or_those_that_match_nothing_are_named() {
    let place = Workplace::new();
    let (file, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    fs::create_dir(place.path("golden")).unwrap();
    fs::copy(model("digits_cnn.output.probabilities.npy"), place.path("golden/probabilities.npy")).unwrap();
    let golden = || place.compare(&[&file, "golden/", "--input", &image]);
    let ended = golden();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("1 tensor compared, 1 within tolerance"), "{ended:?}");
    fs::copy(model("digits_cnn.output.probabilities.npy"), place.path("golden/probabilties.npy")).unwrap();
    let ended = golden();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("nothing has the name of: probabilties\n"), "{ended:?}");
    // Different data is found, whatever other files there are.
    let changed = fs::read(model("digits_cnn.output.probabilities.npy")).unwrap();
    let (last, rest) = changed.split_last().unwrap();
    place.write("golden/probabilities.npy", [rest, &[last ^ 0x40]].concat());
    assert_eq!(golden().code, Some(4));
    // A selection has the tensors of one run.
    let two = format!("{image},{image}");
    let ended = place.compare(&[&file, "golden/", "--input", &two]);
    ended.refused(2, &["\"golden/\" has the tensors of one run, and 2 sets of inputs are given"]);
}

#[test]
fn models_whose_inputs_differ_are_said_to() {
    let place = Workplace::new();
    place.write("chain.onnx", process::onnx::chain(3, "Add", process::onnx::FLOAT32));
    let ended = place.compare(&[&model("digits_cnn.onnx"), "chain.onnx"]);
    ended.refused(2, &["the inputs of the two models differ", "takes image float32 [batch, 1, 8, 8], and chain.onnx"]);
    assert!(!ended.stderr.contains("was given"), "{ended:?}");
}

#[test]
fn every_set_of_inputs_is_run_and_of_each_tensor_the_worst_is_shown_with_its_input() {
    let place = Workplace::new();
    let (model, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    // The second set is zero in one corner, where the changed weight of the other model multiplies nothing.
    let array = fs::read(&image).unwrap();
    let data = array.len() - 4 * 8 * 64;
    place.write("sets/1-dark.npy", [&array[..data], &vec![0; 4 * 8 * 64]].concat());
    place.write("sets/2-digits.npy", &array);
    place.write("sets/3-dark.npy", [&array[..data], &vec![0; 4 * 8 * 64]].concat());
    place.write("changed.onnx", with_changed_initializer(&fs::read(&model).unwrap(), "conv1.weight"));
    let dark = place.compare(&["changed.onnx", &model, "--input", "sets/1-dark.npy"]);
    assert_eq!(dark.code, Some(0), "the change cannot be seen with the first set: {dark:?}");
    let files = "sets/1-dark.npy,sets/2-digits.npy,sets/3-dark.npy";
    for input in ["sets", files] {
        let ended =
            place.compare(&["changed.onnx", &model, "--input", input, "--csv", &format!("{}.csv", input.len())]);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        for text in [
            "3 sets of inputs were run; of each tensor, the worst is shown, with its input\n",
            "first to diverge: operator '/conv1/Conv' (Conv), with 2-digits.npy, ",
        ] {
            assert!(ended.stdout.contains(text), "{text}: {ended:?}");
        }
        let table = csv(&place.text(&format!("{}.csv", input.len())));
        let column = |name: &str| table[0].iter().position(|column| column == name).unwrap();
        assert_eq!((table.len(), &*table[1][column("input")]), (1 + TENSORS, "2-digits.npy"));
        assert_eq!(&*table[1][column("run")], "1");
    }
    let json = place.compare(&["changed.onnx", &model, "--input", files, "--json"]).json();
    assert_eq!(json["input_sets"].as_array().unwrap().len(), 3);
    assert_eq!(json["input_sets"][1][0], "sets/2-digits.npy");
    let first = &json["first_divergence"];
    assert_eq!((&first["run"], &first["row"], &first["blame"]), (&1.into(), &0.into(), &"initializers".into()));
    assert_eq!((rows(&json).len(), &rows(&json)[0]["input"]), (TENSORS, &"2-digits.npy".into()));

    // A dump has a run for each set.
    place.dump(&model, files, "three");
    let ended = place.compare(&[&model, "dump/three", "--input", files]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = place.compare(&["changed.onnx", "dump/three", "--input", files]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stdout.contains("with 2-digits.npy"), "{ended:?}");
    // A single set leaves the other runs of the dump unused.
    assert_eq!(place.compare(&[&model, "dump/three", "--input", "sets/1-dark.npy"]).code, Some(3));
    // Dumps of several runs have a column for the run.
    let ended = place.compare(&["dump/three", "dump/three"]);
    assert!(ended.stdout.lines().next().unwrap().contains("  run"), "{ended:?}");
    assert!(!dark.stdout.lines().next().unwrap().contains("  run"), "{dark:?}");
}
