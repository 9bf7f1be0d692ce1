//! `opscope benchmark --dump`: every output of every operator.

mod process;

use process::tensors::{close, read};
use process::{Workplace, fixture, model};
use serde_json::Value;

/// Dumps a model with its example input and compares every value that another implementation computed.
fn holds_every_value(name: &str, input: &str) {
    let place = Workplace::new();
    let (file, input) = (model(&format!("{name}.onnx")), model(input));
    place.benchmark_well(&[&file, "--input", &input, "--dump", "--output", "out", "--output-dirname", "run"]);
    let index = place.json_lines("out/dump/run/index.jsonl");
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(model(&format!("expected/{name}/index.json"))).unwrap()).unwrap();
    let values = expected["values"].as_object().unwrap();
    assert!(!values.is_empty());
    for (value, about) in values {
        let lines: Vec<_> = index.iter().filter(|line| line["value"] == value.as_str()).collect();
        assert_eq!(lines.len(), 1, "{value} is there once");
        let found = read(place.path("out/dump/run").join(lines[0]["file"].as_str().unwrap()));
        let expected = read(model(&format!("expected/{name}/{}", about["file"].as_str().unwrap())));
        assert!(close(&found, &expected), "{value} of {name} differs");
    }
    assert_eq!(index.len(), values.len(), "nothing else is there");
    assert_eq!(place.json("out/dump/run/manifest.json")["complete"], true);
}

#[test]
fn dump_holds_every_output_of_every_operator_of_a_cnn() {
    holds_every_value("digits_cnn", "digits_cnn.input.image.npy");
}

#[test]
fn dump_holds_every_output_of_every_operator_of_a_transformer() {
    holds_every_value("tiny_transformer", "tiny_transformer.input.hidden_states.npy");
}

#[test]
fn dump_holds_every_output_of_every_operator_of_a_model_of_tokens() {
    holds_every_value("token_classifier", "token_classifier.input.input_ids.npy");
}

#[test]
fn the_value_behind_dump_may_be_one_and_zero_switches_it_off() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    // The example of the tools that this command replaces.
    place.benchmark_well(&["--om-model", &model, "--output", "./", "--dump", "1"]);
    assert!(place.path(&place.only("dump")).join("index.jsonl").is_file());
    assert!(!place.path("profiler").exists());
    place.benchmark_well(&["--om-model", &model, "--output", "off", "--dump", "0"]);
    assert!(!place.path("off/dump").exists());
}

#[test]
fn dump_needs_output() {
    let place = Workplace::new();
    place.benchmark(&[&model("digits_cnn.onnx"), "--dump"]).refused(2, &["--dump needs --output"]);
    assert_eq!(place.tree(""), [""; 0]);
}

#[test]
fn a_dump_has_a_directory_for_every_run_and_says_that_its_times_are_not_the_models() {
    let place = Workplace::new();
    let ended = place.benchmark_well(&[&model("digits_cnn.onnx"), "--loop", "3", "--dump", "-o", "out", "-od", "run"]);
    let directories: Vec<_> =
        place.tree("out/dump/run").into_iter().filter(|path| !path.contains(['.', '/'])).collect();
    assert_eq!(directories, ["run-0000", "run-0001", "run-0002"]);
    assert!(ended.stdout.contains("exact (these are not the model's times)"), "{ended:?}");
    assert_eq!(place.json("out/run_summary.json")["engine"]["fidelity"], "exact");
}

#[test]
fn names_that_look_like_paths_or_are_very_long_never_leave_the_dump() {
    for name in ["path_names", "long_names", "odd_names"] {
        let place = Workplace::new();
        place.benchmark_well(&[&fixture(&format!("{name}.onnx")), "--dump", "-o", "out", "-od", "run"]);
        assert_eq!(place.only(""), "/out");
        let index = place.json_lines("out/dump/run/index.jsonl");
        assert!(!index.is_empty());
        for line in index {
            let file = line["file"].as_str().unwrap();
            assert!(place.path("out/dump/run").join(file).is_file() && !file.contains(".."), "{file}");
        }
    }
}

#[test]
fn the_manifest_says_what_each_run_was_given_and_each_set_of_inputs_once() {
    let place = Workplace::new();
    let image = std::fs::read(model("digits_cnn.input.image.npy")).unwrap();
    let mut other = image.clone();
    *other.last_mut().unwrap() ^= 1;
    for (name, content) in [("a.npy", &image), ("b.npy", &other), ("c.npy", &image)] {
        place.write(&format!("in/{name}"), content);
    }
    let several = ["--loop", "2", "--dym-dims", "image:8,1,8,8", "--dump", "--dump-io", "all"];
    place.benchmark_well(
        &[&[&model("digits_cnn.onnx"), "--input", "in", "-o", ".", "-od", "run"], &several[..]].concat(),
    );
    let manifest = place.json("dump/run/manifest.json");
    let runs = manifest["runs"].as_array().unwrap();
    let given: Vec<_> = runs.iter().map(|run| run["inputs"].as_u64().unwrap()).collect();
    assert_eq!(given, [0, 1, 0, 0, 1, 0], "two loops over three files, of which the first and the last are the same");
    assert_eq!(manifest["inputs"].as_array().unwrap().len(), 2);
    let index = place.json_lines("dump/run/index.jsonl");
    for (run, given) in given.iter().enumerate() {
        let input = &manifest["inputs"][*given as usize][0];
        let is_it = |line: &&Value| line["run"] == run && line["value"] == "image" && line["io"] == "input";
        let captured = index.iter().find(is_it).unwrap();
        assert_eq!(input["name"], "image");
        for field in ["dtype", "shape", "xxh3"] {
            assert_eq!(input[field], captured[field], "{field} of run {run}");
        }
    }
}
