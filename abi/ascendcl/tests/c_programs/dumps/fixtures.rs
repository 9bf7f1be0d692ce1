//! Dumps of models that are legal but rare.

use std::fs;

use opscope::dump::{Io, IoSelection, Selection};
use opscope::onnx::Graph;
use opscope::tensor::npy;
use opscope_c_programs::models;

use super::scene::{Played, Scene};
use super::streams::{Content, Place, Value};

/// A model that runs, with its inputs.
struct Fixture {
    name: String,
    /// The input's files, in the model's order.
    inputs: Vec<String>,
    /// Their shapes, in the form of the program's environment variable.
    shapes: String,
}

fn all() -> Vec<Fixture> {
    let index = fs::read(models().join("fixtures/index.json")).expect("an index");
    let index: serde_json::Value = serde_json::from_slice(&index).expect("JSON");
    let fixtures = index["fixtures"].as_object().expect("an object");
    let runs = fixtures.iter().filter(|(_, about)| about["fate"] == "runs");
    runs.map(|(name, about)| Fixture::new(name, about)).collect()
}

impl Fixture {
    fn new(name: &str, about: &serde_json::Value) -> Self {
        let graph = Graph::load(&models().join(format!("fixtures/{name}.onnx"))).expect("a model");
        let named = |name: &str| format!("fixtures/{}", about["inputs"][name].as_str().expect("a file"));
        let names: Vec<&str> = graph.inputs.iter().map(|&input| &*graph.value(input).name).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| about["inputs"].get(name).is_some()).collect();
        let shape = |name: &str| {
            let tensor = npy::read_file(&models().join(named(name))).expect("npy");
            let shape: Vec<String> = tensor.shape().iter().map(usize::to_string).collect();
            // A scalar has no free dimension.
            (!shape.is_empty()).then(|| format!("{name}:{}", shape.join(",")))
        };
        let shapes = names.iter().filter_map(|name| shape(name)).collect::<Vec<_>>().join(";");
        Self { name: name.to_owned(), inputs: names.iter().map(|name| named(name)).collect(), shapes }
    }
}

/// The models that cannot run here, because their outputs have no bytes.
const STRINGS: &str = "strings";

/// Runs each model twice with these keys beside the path. Passes the tensors that the callback received, and the
/// expected ones.
fn each(keys: &str, check: impl Fn(&Played, &Content)) {
    for Fixture { name, inputs, shapes } in all().into_iter().filter(|fixture| fixture.name != STRINGS) {
        let files: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let selection = Selection { io: IoSelection::All, ..Selection::default() };
        let expected = Content::expected(&format!("fixtures/{name}.onnx"), 1, &[&files, &files], selection);
        let files: Vec<String> = inputs.iter().map(|input| format!("MODELS/{input}")).collect();
        let run = format!("run=0,{}", files.join(","));
        let load = format!("load=0,MODELS/fixtures/{name}.onnx");
        let scene = Scene::new(&format!("init=acl.json reg {load} {run} {run} unreg finalize report"));
        let section = format!(r#"{{"dump_path": "dump", "dump_list": [{{}}], "dump_mode": "all", {keys}}}"#);
        scene.dumps("acl.json", &section).shapes(&shapes).play(|played| {
            assert_eq!(played.stderr, "", "{name}");
            let (said, report) = played.stdout.trim_end().rsplit_once('\n').unwrap_or(("", played.stdout.trim_end()));
            assert_eq!(report, format!("{} files, 0 incomplete, 0 chunks lost", played.streams.len()), "{name}");
            // The engine removes some values from a plan.
            let is_said = |line: &str| line.ends_with(": the engine does not use this input of the model");
            assert!(said.lines().all(is_said), "{name}: {said}");
            check(played, &expected);
        });
    }
}

#[test]
fn rare_models_are_dumped_as_the_librarys_own_dumper_does() {
    each(r#""dump_data": "tensor""#, |played, expected| played.content().is(expected));
}

#[test]
fn statistics_of_rare_models_have_a_line_for_each_tensor() {
    let stats =
        r#""dump_data": "stats", "dump_stats": ["Max", "Min", "Avg", "Nan", "Negative Inf", "Positive Inf", "L2norm"]"#;
    each(stats, |played, expected| {
        let mut lines = Vec::new();
        for table in &played.streams {
            let text = std::str::from_utf8(&table.bytes).expect("UTF-8");
            let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let columns = rows.next().expect("a header").len();
            for row in rows {
                assert_eq!(row.len(), columns, "{text}");
                let size = |text: &str| text.split('x').map(|size| size.parse::<usize>().expect("a size")).product();
                let elements: usize = if row[5] == "-" { 1 } else { size(row[5]) };
                assert_eq!(row[6], elements.to_string(), "{text}");
                lines.push((row[0].to_owned(), row[1].to_owned(), row[2].to_owned()));
            }
        }
        let side = |io: &Io| if *io == Io::Input { "Input" } else { "Output" };
        let tensor = |((_, _, _, io, slot), (_, _, bytes)): (&Place, &Value)| {
            (side(io).to_owned(), slot.to_string(), bytes.len().to_string())
        };
        let mut tensors: Vec<_> = expected.0.iter().map(tensor).collect();
        tensors.sort();
        lines.sort();
        assert_eq!(lines, tensors);
    });
}
