//! Names of a model that PyTorch exported: modules, classes and source lines are shown wherever operators are shown or
//! chosen.

mod process;

use process::{Ended, Workplace, end, model};
use serde_json::{Value, json};

/// Returns a network from PyTorch's default exporter. Its `node_softmax` lies in `layers.0.attn`.
fn network() -> String {
    model("torch/network.onnx")
}

const SOFTMAX: &str = "layers.0.attn (Softmax)";
const LINE: &str = "train_lib/attention.py:18  attn = torch.softmax(scores, -1)";

/// A recording of some runs.
fn recorded() -> Workplace {
    let place = Workplace::new();
    let fixed = ["--output", "out", "--output-dirname", "first", "--loop", "5", "--profiler"];
    place.benchmark_well(&[&[network().as_str()], &fixed[..]].concat());
    place
}

fn inspect(place: &Workplace, arguments: &[&str]) -> Ended {
    let ended = end(&mut place.command(&[&["inspect"], arguments].concat()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended
}

/// Returns the operators of a dump, except those that the model's own `forward` calls.
fn dumped(arguments: &[&str]) -> Vec<Value> {
    let place = Workplace::new();
    let fixed = ["--dump", "--output", "out", "--output-dirname", "first", "--warmup-count", "0"];
    place.benchmark_well(&[&[network().as_str()], &fixed[..], arguments].concat());
    place.json_lines("out/dump/first/index.jsonl")
}

fn names(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["operator"].as_str().unwrap()).collect()
}

#[test]
fn the_tables_of_a_recording_have_modules_instead_of_the_names_of_nodes() {
    let place = recorded();
    let text = inspect(&place, &["out/profiler/first", "--rows", "100", "--no-roofline"]);
    for part in [SOFTMAX, "stem.c1 (Conv)", "layers.1.attn (MatMul #2)", "node_log"] {
        assert!(text.stdout.contains(part), "{part} is not in:\n{}", text.stdout);
    }
    assert!(!text.stdout.contains("node_softmax"), "{}", text.stdout);
    let json = inspect(&place, &["out/profiler/first", "--json", "--no-roofline"]).json();
    let rows = json["account"]["operators"].as_array().unwrap();
    let softmax = rows.iter().find(|row| row["operator"] == "node_softmax").unwrap();
    let expected = json!({
        "display_name": SOFTMAX,
        "modules": [
            { "path": "layers.0", "class": "train_lib.network.Layer" },
            { "path": "layers.0.attn", "class": "train_lib.attention.Attention" },
        ],
        "source": { "file": "train_lib/attention.py", "line": 18, "code": "attn = torch.softmax(scores, -1)" },
    });
    assert_eq!(softmax["origin"], expected);
}

#[test]
fn layers_are_the_modules_of_both_exporters() {
    let place = recorded();
    let layers = |recording: &str, depth: &str| -> Vec<String> {
        let json = inspect(&place, &[recording, "--group-depth", depth, "--json", "--no-roofline"]).json();
        let mut paths: Vec<String> =
            json["layers"].as_array().unwrap().iter().map(|layer| layer["path"].as_str().unwrap().to_owned()).collect();
        paths.sort();
        paths
    };
    assert_eq!(layers("out/profiler/first", "1"), ["", "head", "layers.0", "layers.1", "stem"]);
    let inner = layers("out/profiler/first", "2");
    assert!(inner.contains(&"layers.1.mlp".to_owned()) && inner.contains(&"stem.c2".to_owned()), "{inner:?}");

    let older = model("torch/network_torchscript.onnx");
    place.benchmark_well(&[&older, "--output", "out", "--output-dirname", "older", "--profiler"]);
    let outer = layers("out/profiler/older", "1");
    assert!(outer.contains(&"/stem".to_owned()) && outer.contains(&"/head".to_owned()), "{outer:?}");
}

#[test]
fn timelines_and_tables_say_module_class_and_source() {
    let place = recorded();
    let timeline = place.json("out/profiler/first/timeline.json");
    let softmax =
        timeline.as_array().unwrap().iter().find(|event| event["args"]["operator"] == "node_softmax").unwrap();
    assert_eq!(softmax["name"], SOFTMAX);
    assert_eq!(softmax["args"]["module"], "layers.0.attn");
    assert_eq!(softmax["args"]["class"], "train_lib.attention.Attention");
    assert_eq!(softmax["args"]["source"], LINE);
    // The timeline in Perfetto's format has the same texts.
    let bytes = std::fs::read(place.path("out/profiler/first/timeline.pftrace")).unwrap();
    for text in [SOFTMAX, LINE] {
        assert!(bytes.windows(text.len()).any(|window| window == text.as_bytes()), "{text}");
    }
}

#[test]
fn the_page_shows_modules_and_lines_of_source() {
    let place = recorded();
    let ended = end(&mut place.command(&["report", "out"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = place.text("report.html");
    for text in [SOFTMAX, "node_softmax", LINE, "layers.0"] {
        assert!(page.contains(text), "the page has no {text}");
    }
    // A page of a dump has them even without the model.
    let dumped = ["--dump", "--output", "values", "--output-dirname", "first", "--warmup-count", "0"];
    let copy = place.write("copy.onnx", std::fs::read(network()).unwrap());
    place.benchmark_well(&[&["copy.onnx"], &dumped[..]].concat());
    std::fs::remove_file(copy).unwrap();
    let ended = end(&mut place.command(&["report", "values", "--output", "dump.html"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let page = place.text("dump.html");
    for text in [SOFTMAX, "node_softmax output", LINE] {
        assert!(page.contains(text), "the page of the dump has no {text}");
    }
}

#[test]
fn a_dump_says_where_its_tensors_come_from() {
    let lines = dumped(&[]);
    let softmax = lines.iter().find(|line| line["operator"] == "node_softmax").unwrap();
    assert_eq!(softmax["module"], "layers.0.attn");
    assert_eq!(softmax["class"], "train_lib.attention.Attention");
    assert_eq!(softmax["source"]["line"], 18);
    let second = lines.iter().find(|line| line["operator"] == "node_relu_1").unwrap();
    assert_eq!(second["display_name"], "stem (Relu #2)", "two of a type in a module are told apart");
    // This is the innermost line of the user's code, although PyTorch's own linear.py lies in between.
    let linear = lines.iter().find(|line| line["operator"] == "node_MatMul_6").unwrap();
    assert_eq!((&linear["module"], &linear["source"]["line"]), (&json!("layers.0.attn.q"), &json!(17)));
    let log = lines.iter().find(|line| line["operator"] == "node_log").unwrap();
    assert_eq!((log.get("module"), &log["source"]["line"]), (None, &json!(42)));
}

#[test]
fn operators_are_chosen_by_module_by_display_name_and_by_name() {
    let attention = dumped(&["--dump-operator", "layers.1.attn*"]);
    assert_eq!(names(&attention).first(), Some(&"node_MatMul_19"));
    assert!(
        attention.len() > 10
            && attention.iter().all(|line| line["module"].as_str().unwrap().starts_with("layers.1.attn"))
    );
    assert_eq!(
        names(&dumped(&["--dump-operator", "layers.1.attn"])),
        names(&attention),
        "a module is all that lies in it"
    );
    for one in [SOFTMAX, "node_softmax"] {
        assert_eq!(names(&dumped(&["--dump-operator", one])), ["node_softmax"]);
    }
    // A range begins with the first operator of a module and ends with the last one.
    let all = dumped(&["--dump-range", "layers.1.attn..layers.1.attn"]);
    assert_eq!(names(&all), names(&attention));
    let both = dumped(&["--dump-range", "layers.0.attn (Softmax)..node_softmax", "--dump-range", "stem..node_conv2d"]);
    assert_eq!(names(&both), ["node_conv2d", "node_softmax"]);
}

#[test]
fn a_name_in_acl_json_may_be_a_module_or_a_shown_name() {
    let dumped = |list: Value| {
        let place = Workplace::new();
        let dump = json!({ "dump_list": [list], "dump_mode": "output", "dump_path": "./result", "dump_level": "op" });
        place.write("acl.json", json!({ "dump": dump }).to_string());
        place.benchmark_well(&["--om-model", &network(), "--acl-json-path", "acl.json"]);
        place.json_lines(&format!("{}/index.jsonl", place.only("result")))
    };
    let stem = ["node_conv2d", "node_relu", "node_conv2d_1", "node_relu_1"];
    let layers = dumped(json!({ "model_name": "network", "layer": ["stem", "node_softmax"] }));
    assert_eq!(names(&layers), [&stem[..], &["node_softmax"]].concat());
    let range = json!([{ "begin": "stem", "end": "stem" }, { "begin": SOFTMAX, "end": "node_softmax" }]);
    let ranges = dumped(json!({ "model_name": "network", "opname_range": range }));
    assert_eq!(names(&ranges), names(&layers));
    let without = json!([{ "name": "stem" }, { "name": SOFTMAX }]);
    let rest = dumped(json!({ "model_name": "network", "opname_blacklist": without }));
    let is_left = |name: &&str| !names(&layers).contains(name);
    let all = dumped(json!({ "model_name": "network" }));
    assert_eq!(names(&rest), names(&all).into_iter().filter(|name| is_left(name)).collect::<Vec<_>>());
    assert_eq!(rest.len() + layers.len(), all.len());
}

fn debugged(commands: &[&str]) -> String {
    let place = Workplace::new();
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
    let ended = end(&mut place.command(&[&["debug", &network(), "--batch"], &commands[..]].concat()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout
}

#[test]
fn a_breakpoint_on_a_module_stops_and_shows_the_line_of_source() {
    let text = debugged(&["break layers.0.attn*", "run", "info operators layers.0.mlp", "delete", "continue"]);
    for part in [
        "layers.0.attn.q (MatMul) in torch.nn.modules.linear.Linear",
        "train_lib/attention.py:17  scores = torch.matmul(self.q(x), self.k(x).transpose(-2, -1)) * self.scale",
        "layers.0.mlp.1 (Tanh)",
        "Run 0 ended",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let conditional = debugged(&["break \"layers.1.attn (Softmax)\" after if max(output[0]) > 0", "run"]);
    assert!(conditional.contains(LINE), "{conditional}");
    let none = debugged(&["break layers.1.attn* after if max(output[0]) > 1e9", "run"]);
    assert!(none.contains("Run 0 ended") && !none.contains("train_lib"), "{none}");
}

#[test]
fn the_verdict_of_compare_names_the_line_of_source() {
    let place = Workplace::new();
    let bytes = std::fs::read(network()).unwrap();
    place.write("changed.onnx", process::onnx::with_changed_initializer(&bytes, "head.weight"));
    let compare = |more: &[&str]| place.compare(&[&["changed.onnx", &network()], more].concat());
    let ended = compare(&[]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let line = "train_lib/network.py:42  return torch.log(self.head(x.mean(1)))";
    let lines = format!("\n  head (Gemm) in torch.nn.modules.linear.Linear\n  {line}\n");
    assert!(ended.stdout.contains(&lines), "{ended:?}");
    assert_eq!(compare(&["--json"]).json()["first_divergence"]["origin"]["source"]["line"], 42);
    // Dumps contain the names themselves.
    let values = ["--dump", "--output", ".", "--warmup-count", "0", "--output-dirname"];
    for (file, name) in [("changed.onnx", "changed"), (network().as_str(), "right")] {
        place.benchmark_well(&[&[file], &values[..], &[name]].concat());
    }
    let ended = place.compare(&["dump/changed", "dump/right"]);
    assert!(ended.stdout.contains(&lines), "{ended:?}");
}

#[test]
fn a_model_is_listed_with_where_its_operators_come_from() {
    let place = Workplace::new();
    let json = inspect(&place, &[&network(), "--json"]).json();
    let softmax = json["operators"].as_array().unwrap().iter().find(|row| row["name"] == "node_softmax").unwrap();
    assert_eq!(softmax["origin"]["display_name"], SOFTMAX);
}

#[test]
fn no_path_of_the_machine_that_exported_is_in_the_files() {
    for name in ["torch/network.onnx", "torch/network_torchscript.onnx"] {
        let bytes = std::fs::read(model(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("/home/") && !text.contains("/work/") && !text.contains("File \"/"), "{name}");
    }
}
