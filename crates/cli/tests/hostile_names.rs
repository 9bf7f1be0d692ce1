//! Names that would move a terminal's cursor, forge a line or reverse the text: every command prints them escaped.

mod process;

use std::fs;

use process::onnx::{self, Node, node};
use process::{Ended, Workplace, end, engine, model};

/// A name with control characters, line breaks and invisible characters.
const HOSTILE: &str =
    "x\u{1b}[31m\u{1b}]0;y\u{7}\nFORGED \r\u{9b}1m\u{85}\u{2028}\t\u{7f}\u{202e}\u{2066}\u{200b}\u{feff}z";

/// Checks that only text and line ends are printed, and that no line is forged.
fn printed_safely(what: &str, ended: &Ended) {
    for (stream, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        let unseen = |c: &char| {
            (c.is_control() && *c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        };
        assert_eq!(text.chars().find(unseen), None, "{what}: {stream}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{what}: {stream}: {text:?}");
    }
    assert!(ended.code.is_some_and(|code| code <= 4), "{what}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{what}: {ended:?}");
}

fn hostile(suffix: &str) -> String {
    format!("{HOSTILE}{suffix}")
}

/// Writes a model that can be run and has only hostile names.
fn write_model(place: &Workplace) -> String {
    let (a, b, c, d, batch) = (hostile("a"), hostile("b"), hostile("c"), hostile("d"), hostile("n"));
    let (one, two) = (hostile("one"), hostile("two"));
    let nodes = [node(&one, "Add", &[&a, &b], &[&c]), node(&two, "Relu", &[&c], &[&d])];
    let inputs: [onnx::Port<'_>; 2] = [(&a, &[&batch, "4"]), (&b, &["1", "4"])];
    let bytes = onnx::file(&hostile("graph"), &hostile("producer"), &inputs, &nodes, &[(&d, &[&batch, "4"])]);
    let name = format!("{}.onnx", hostile("file").replace('/', "_"));
    place.write(&name, bytes);
    name
}

/// Runs a command, and checks what it prints, as text and as JSON.
fn run(place: &Workplace, arguments: &[&str]) -> Ended {
    let ended = end(&mut place.command(arguments));
    printed_safely(&format!("{arguments:?}"), &ended);
    let json = end(&mut place.command(&[arguments, &["--json"]].concat()));
    printed_safely(&format!("{arguments:?} --json"), &json);
    json.stdout.lines().last().inspect(|_| drop(json.json()));
    ended
}

#[test]
fn every_command_prints_hostile_names_as_escapes() {
    let place = Workplace::new();
    let model = write_model(&place);
    let ended = run(&place, &["inspect", &model]);
    assert!(ended.code == Some(0) && ended.stdout.contains("\\u{1b}[31m"), "{ended:?}");
    let out = hostile("out");
    let ended = run(&place, &["benchmark", &model, "--loop", "1", "--output", &out, "--debug"]);
    assert!(ended.code == Some(0) && ended.stdout.contains("\\u{1b}[31m"), "{ended:?}");
    for (instrument, name) in [("--profiler", "profiled"), ("--dump", "dumped")] {
        let named = ["benchmark", &model, "--loop", "1", "--output", "out", "--output-dirname", name, "--overwrite"];
        let ended = run(&place, &[&named[..], &[instrument]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    for arguments in [
        &["benchmark", &model, "--dump", "--dump-estimate"][..],
        &["inspect", "out/profiler/profiled"],
        &["inspect", "out/dump/dumped"],
        &["export", "out/profiler/profiled", "--output", &hostile("exports")],
        &["compare", "out/dump/dumped", "out/dump/dumped"],
    ] {
        let ended = run(&place, arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {ended:?}");
    }
    for name in ["op_summary.csv", "op_statistic.csv"] {
        let table = place.text(&format!("out/profiler/profiled/{name}"));
        assert!(table.contains("FORGED") || !table.contains("one"), "the name itself is data there: {table}");
    }
}

#[test]
fn errors_of_every_kind_are_one_line_whatever_a_file_says() {
    let place = Workplace::new();
    let model = write_model(&place);
    let (x, y, h) = (hostile("x"), hostile("y"), hostile(""));
    let ports: [onnx::Port<'_>; 1] = [(&x, &["4"])];
    let unknown =
        Node { name: &h, op_type: &h, domain: &h, inputs: vec![&x], outputs: vec![&y], attributes: Vec::new() };
    place.write("unknown.onnx", onnx::file(&h, &h, &ports, &[unknown], &[(&y, &["4"])]));
    let dangling = [node(&h, "Add", &[&x, &h], &[&y])];
    place.write("dangling.onnx", onnx::file(&h, &h, &ports, &dangling, &[(&y, &["4"])]));
    let cycle = [node(&h, "Add", &[&x, &y], &[&y])];
    place.write("cycle.onnx", onnx::file(&h, &h, &ports, &cycle, &[(&y, &["4"])]));
    let twice = [node(&h, "Relu", &[&x], &[&y]), node(&y, "Relu", &[&x], &[&y])];
    place.write("twice.onnx", onnx::file(&h, &h, &ports, &twice, &[(&y, &["4"])]));
    place.write(&hostile(".npy"), "no array");
    place.write("acl.json", serde_json::json!({ "dump": { &h: &h, "dump_mode": &h, "dump_path": "d" } }).to_string());
    place.write(
        "names.json",
        serde_json::json!({ "dump": {
        "dump_list": [{ "model_name": &h, "layer": [&h] }], "dump_path": "d" } })
        .to_string(),
    );
    let nowhere = hostile("nowhere");
    let (shape, range) = (format!("{h}:1,2"), format!("{h}:1~2,2"));
    for arguments in [
        &["benchmark", "unknown.onnx"][..],
        &["benchmark", "dangling.onnx"],
        &["benchmark", "cycle.onnx"],
        &["benchmark", "twice.onnx"],
        &["inspect", "dangling.onnx"],
        &["inspect", &nowhere],
        &["export", &nowhere],
        &["recover", &nowhere],
        &["reduce", &nowhere, "--fails", "crash", "--output", "small.onnx"],
        &["reduce", "unknown.onnx", "--fails", "first nonfinite", "--output", "small.onnx"],
        &["reduce", &model, "--fails", &h, "--output", "small.onnx"],
        &["compare", &nowhere, &nowhere],
        &["benchmark", &nowhere],
        &["benchmark", &model, "--input", &nowhere],
        &["benchmark", &model, "--input", &hostile(".npy")],
        &["benchmark", &model, "--dym-shape", &shape],
        &["benchmark", &model, "--dym-shape-range", &range],
        &["benchmark", &model, "--dump", "--output", "o", "--dump-operator", &h],
        &["benchmark", &model, "--acl-json-path", "names.json"],
        &["benchmark", &model, "--acl-json-path", &nowhere],
    ] {
        let ended = run(&place, arguments);
        assert!(matches!(ended.code, Some(1 | 2)), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.starts_with("error: ") && ended.stdout.is_empty(), "{arguments:?}: {ended:?}");
    }
    let ended = run(&place, &["benchmark", &model, "--acl-json-path", "acl.json"]);
    assert!(ended.code == Some(2) && ended.stderr.lines().skip(1).all(|line| line.starts_with("  ")), "{ended:?}");
}

/// Replaces a text in a JSON or JSON lines file by the hostile one.
fn poison(place: &Workplace, file: &str, text: &str) {
    let hostile = serde_json::to_string(HOSTILE).unwrap();
    let before = place.text(file);
    let after = before.replace(&format!("\"{text}\""), &hostile);
    assert_ne!(before, after, "{text} is in {file}");
    place.write(file, after);
}

#[test]
fn what_a_recording_or_a_dump_says_of_itself_is_shown_as_escapes() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (instrument, name) in [("--profiler", "p"), ("--dump", "d")] {
        place.benchmark_well(&[&digits, "--output", "out", "--output-dirname", name, "--overwrite", instrument]);
    }
    fs::create_dir(place.path("empty")).unwrap();
    let manifest = "out/profiler/p/manifest.json";
    for text in [engine::name(), &digits] {
        poison(&place, manifest, text);
    }
    place.write(manifest, place.text(manifest).replace("\"complete\": true", "\"complete\": false"));
    let reason = serde_json::to_string(HOSTILE).unwrap();
    let reasons = format!("\"incomplete_because\": [{reason}]");
    place.write(manifest, place.text(manifest).replace("\"incomplete_because\": []", &reasons));
    let kernel = if engine::is_onnxruntime() { "ReorderOutput" } else { "OptMatMul" };
    for text in ["/conv1/Conv", "Conv", kernel] {
        poison(&place, "out/profiler/p/names.jsonl", text);
    }
    for text in [engine::name(), &digits] {
        poison(&place, "out/dump/d/manifest.json", text);
    }
    for text in ["/conv1/Conv", "MaxPool"] {
        poison(&place, "out/dump/d/index.jsonl", text);
    }
    for arguments in [
        &["inspect", "out/profiler/p"][..],
        &["export", "out/profiler/p", "--output", "exports"],
        &["inspect", "out/dump/d"],
        &["compare", "out/dump/d", "out/dump/d"],
    ] {
        let ended = run(&place, arguments);
        assert!(matches!(ended.code, Some(0 | 3)), "{arguments:?}: {ended:?}");
    }
    for text in ["optimised", "opscope.recording/3"] {
        poison(&place, manifest, text);
        let ended = run(&place, &["inspect", "out/profiler/p"]);
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{ended:?}");
    }
}
