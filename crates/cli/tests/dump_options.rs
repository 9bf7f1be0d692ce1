//! `--dump` with the options that choose what is dumped, and how.

mod process;

use std::io::Read;
use std::process::Stdio;

use process::{Workplace, end, model};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Dumps the CNN with these options and returns the lines of the index.
fn dumped(place: &Workplace, name: &str, options: &[&str]) -> Vec<Value> {
    let model = model("digits_cnn.onnx");
    place.benchmark_well(&[&[&*model, "--dump", "--output", "out", "--output-dirname", name], options].concat());
    place.json_lines(&format!("out/dump/{name}/index.jsonl"))
}

fn operators(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["operator"].as_str().unwrap()).collect()
}

#[test]
fn options_choose_operators_types_ranges_runs_and_numbers_of_tensors() {
    let place = Workplace::new();
    let convolutions = ["/conv1/Conv", "/conv2/Conv", "/conv3/Conv"];
    assert_eq!(operators(&dumped(&place, "glob", &["--dump-operator", "/conv?/*"])), convolutions);
    assert_eq!(operators(&dumped(&place, "regex", &["--dump-operator", "re:^/conv[12]/"])), convolutions[..2]);
    assert_eq!(operators(&dumped(&place, "type", &["--dump-type", "Conv"])), convolutions);
    let range = dumped(&place, "range", &["--dump-range", "/conv1/Conv../relu1/Relu"]);
    assert_eq!(operators(&range), ["/conv1/Conv", "/bn1/BatchNormalization", "/relu1/Relu"]);
    let runs = dumped(&place, "runs", &["--dump-run", "1|3-4", "--loop", "6", "--dump-first", "20"]);
    let numbers: Vec<_> = runs.iter().map(|line| line["run"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [vec![1; 16], vec![3; 4]].concat());
    assert!(dumped(&place, "finite", &["--dump-non-finite"]).is_empty(), "this model has no NaN and no infinity");
}

#[test]
fn a_dump_of_at_most_0_tensors_is_not_complete() {
    let place = Workplace::new();
    for format in ["npy", "ascend", "statistics"] {
        let options = ["--dump", "--dump-first", "0", "--dump-format", format, "-o", "out", "-od", format];
        let ended = place.benchmark(&[&[&*model("digits_cnn.onnx")], &options[..]].concat());
        assert_eq!(ended.code, Some(3), "{ended:?}");
        ended.says(&["warning: incomplete: at most 0 tensors were asked for, so none is in the dump"]);
        assert_eq!(place.json(&format!("out/dump/{format}/manifest.json"))["complete"], false);
    }
}

#[test]
fn an_estimate_says_what_then_comes_and_writes_nothing() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let options = ["--dump", "--loop", "3", "--dump-io", "all", "--dump-type", "Conv"];
    let estimate = place.benchmark_well(&[&[&*model, "--dump-estimate", "--json"], &options[..]].concat()).json();
    assert!(place.tree("").is_empty(), "nothing is written");
    let lines = dumped(&place, "run", &options[1..]);
    let bytes: u64 = lines.iter().map(|line| line["bytes"].as_u64().unwrap()).sum();
    let estimate = &estimate["dumps"][0];
    assert_eq!((estimate["tensors"].as_u64(), estimate["bytes"].as_u64()), (Some(lines.len() as u64), Some(bytes)));
}

#[test]
fn ascendcls_files_hold_what_npy_files_hold() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let random = ["--pure-data-type", "random"];
    dumped(&place, "npy", &random);
    let ascend = ["--dump", "--dump-format", "ascend", "--output", "out", "--output-dirname", "ascend"];
    place.benchmark_well(&[&[&*model][..], &ascend, &random].concat());
    let ended = end(&mut place.command(&["compare", "out/dump/ascend", "out/dump/npy", "--json"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json()["rows"].as_array().map(Vec::len), Some(16), "{ended:?}");
}

#[test]
fn statistics_leave_a_table_and_no_tensors() {
    let place = Workplace::new();
    let lines = dumped(&place, "run", &["--dump-format", "statistics"]);
    assert_eq!(lines.len(), 16);
    assert_eq!(place.text("out/dump/run/statistics.csv").lines().count(), 17);
    assert!(place.tree("out/dump/run").iter().all(|path| !path.ends_with(".npy")));
}

#[test]
fn histograms_count_every_element_of_every_dumped_tensor() {
    let place = Workplace::new();
    for format in ["npy", "statistics"] {
        let options = ["--dump-histograms", "--dump-format", format, "--pure-data-type", "random"];
        let index = dumped(&place, format, &options);
        let lines = place.json_lines(&format!("out/dump/{format}/histograms.jsonl"));
        assert_eq!(operators(&lines), operators(&index));
        for (line, tensor) in lines.iter().zip(&index) {
            let counted: u64 = line["bins"].as_array().unwrap().iter().map(|bin| bin[2].as_u64().unwrap()).sum();
            let shape = tensor["shape"].as_array().unwrap().iter().map(|dim| dim.as_u64().unwrap());
            assert_eq!(counted + line["non_finite"].as_u64().unwrap(), shape.product::<u64>(), "{line}");
        }
    }
    dumped(&place, "without", &[]);
    assert!(!place.path("out/dump/without/histograms.jsonl").exists());
}

#[test]
fn a_name_or_a_pattern_that_is_wrong_is_refused_before_anything_is_written() {
    let place = Workplace::new();
    let model = model("digits_cnn.onnx");
    let dump = [&*model, "--dump", "--output", "out"];
    for (options, says) in [
        (["--dump-operator", "/conv1/Conw"], "/conv1/Conv"),
        (["--dump-operator", "re:("], "--dump-operator"),
        (["--dump-range", "/conv1/Conv"], "--dump-range"),
        (["--dump-run", "5-3"], "--dump-run"),
        (["--dump-operator", "/conv9/*"], "the selection matches nothing"),
        (["--dump-type", "Conw"], "the selection matches nothing"),
        (["--dump-slot", "7"], "the selection matches nothing"),
        (["--dump-run", "1-3"], "there are 1 runs, counted from 0"),
        (["--dump-cap", "1K"], "write 64K or more"),
    ] {
        place.benchmark(&[&dump[..], &options].concat()).refused(2, &[says]);
        assert!(place.tree("").is_empty(), "{options:?}");
    }
    place.benchmark(&[&model, "--dump-first", "3"]).refused(2, &["--dump-first needs --dump"]);
}

#[test]
fn a_dump_that_is_interrupted_is_closed_and_says_so() {
    for (format, kind) in [("statistics", Signal::INT), ("npy", Signal::TERM), ("ascend", Signal::INT)] {
        let place = Workplace::new();
        let model = model("digits_cnn.onnx");
        let fixed = ["benchmark", &*model, "--dump", "--loop", "10000000000", "-o", "out", "-od", "run"];
        let mut command = place.command(&[&fixed[..], &["--dump-format", format]].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let sixth = ["out/dump/run.partial/run-0005", "out/dump/run.partial/0/digits_cnn/1/5"];
        let index = place.path("out/dump/run.partial/index.jsonl");
        let has_begun = || {
            let lines = std::fs::read_to_string(&index).unwrap_or_default().lines().count();
            lines > 5 * 16 || sixth.iter().any(|directory| place.path(directory).exists())
        };
        while !has_begun() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it captured anything");
            std::thread::yield_now();
        }
        kill_process(Pid::from_child(&child), kind).unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(3), "{stderr}");
        assert!(stderr.contains("warning: incomplete: it was interrupted"), "{stderr}");
        let manifest = place.json("out/dump/run/manifest.json");
        assert_eq!(manifest["complete"], false, "{format}: {manifest}");
        assert!(manifest["errors"].to_string().contains("interrupted"), "{format}: {manifest}");
        assert_eq!(place.json("out/run_summary.json")["complete"], false);

        let inspected = end(&mut place.command(&["inspect", "out/dump/run", "--json"]));
        assert_eq!((inspected.code, &inspected.json()["complete"]), (Some(3), &Value::Bool(false)));
        let tensors = inspected.json()["tensors"].as_array().unwrap().len();
        assert_eq!(manifest["tensors"].as_u64(), Some(tensors as u64), "every tensor that was captured is there");
        assert_eq!(inspected.json()["problems"], serde_json::json!([]));
    }
}

#[test]
fn a_dump_of_which_an_input_cannot_be_read_holds_the_runs_before_it_and_says_so() {
    let place = Workplace::new();
    let (model, image) = (model("digits_cnn.onnx"), std::fs::read(model("digits_cnn.input.image.npy")).unwrap());
    for file in 1..=20 {
        let length = if file == 8 { image.len() - 1 } else { image.len() };
        place.write(&format!("in/{file}.npy"), &image[..length]);
    }
    for format in ["npy", "statistics", "ascend"] {
        let fixed = ["--input", "in", "-asdsm", "--dump", "--dump-format", format, "-o", "out", "-od", format];
        let ended = place.benchmark(&[&[&*model][..], &fixed].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        ended.says(&["8.npy", "what was captured until then is in"]);
        let manifest = place.json(&format!("out/dump/{format}/manifest.json"));
        assert_eq!((&manifest["complete"], &manifest["tensors"]), (&false.into(), &(7 * 16).into()), "{manifest}");
        assert!(manifest["errors"].to_string().contains("8.npy"), "{manifest}");
    }
}
