//! Files with legal oddities, each with its outputs.

use std::sync::Arc;

use opscope_model::{EngineError, NoObserver, Plan, RunId};
use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};

use crate::files::{FIDELITIES, graph, inputs, json, load, members, mismatch, models, tensor};

#[test]
fn what_may_run_gives_what_is_expected_at_both_fidelities() {
    let mut wrong = Vec::new();
    for (name, fixture) in members(&json("fixtures/index.json")["fixtures"]) {
        if fixture["fate"] != "runs" {
            continue;
        }
        let graph = graph(&format!("fixtures/{name}.onnx"));
        let inputs = inputs(&graph, "fixtures/", &fixture["inputs"]);
        for fidelity in FIDELITIES {
            let outcome = load(&graph, fidelity).and_then(|model| run_with_strings(&*model.plan(&inputs)?, &inputs));
            let outputs = match outcome {
                Ok(outputs) => outputs,
                Err(error) => {
                    wrong.push(format!("{name}, {fidelity}: {error}"));
                    continue;
                }
            };
            for (&output, found) in graph.outputs.iter().zip(&outputs) {
                let output = &graph.value(output).name;
                let file = &fixture["outputs"][output];
                match (found, file.as_str()) {
                    (None, None) => {}
                    (Some(found), Some(file)) => {
                        let reason = mismatch(found, &tensor(&format!("fixtures/{file}")));
                        wrong.extend(reason.map(|reason| format!("{name}, {fidelity}, '{output}': {reason}")));
                    }
                    _ => wrong.push(format!("{name}, {fidelity}, '{output}': bytes where strings belong, or none")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the outputs of a run; `None` for one of strings.
fn run_with_strings(plan: &dyn Plan, inputs: &[Tensor]) -> Result<Vec<Option<Tensor>>, EngineError> {
    let outputs = plan.run(RunId(0), &*plan.upload(inputs)?, &NoObserver)?;
    let tensor = |index| {
        let view = outputs.view(index);
        (view.dtype() != DType::String).then(|| view.to_tensor().unwrap())
    };
    Ok((0..outputs.len()).map(tensor).collect())
}

/// What the refusal of a fixture must contain.
const NAMED: &[(&str, &[&str])] = &[
    ("bf16_initializer", &["bfloat16", "'w'"]),
    ("cycle", &["'node_0'", "cycle"]),
    ("dangling_input", &["'node_0'", "'nobody'"]),
    ("dangling_output", &["output 'y'"]),
    ("duplicate_value", &["'a'", "two producers"]),
    ("empty", &["is empty"]),
    ("external_absolute", &["'w'", "'/etc/passwd'", "outside"]),
    ("external_missing", &["'w'", "'nowhere.bin'"]),
    ("external_outside", &["'w'", "'../../etc/passwd'", "outside"]),
    ("external_parent", &["'w'", "outside"]),
    ("external_short", &["'b'", "60 bytes"]),
    ("huge_constant_of_shape", &["'fill'", "size"]),
    ("huge_initializer", &["'w'", "impossible shape"]),
    ("large_constant_of_shape", &["'fill'", "256.0 TiB"]),
    ("local_function", &["local.scaled_square", "'call'"]),
    ("negative_initializer", &["'w'", "impossible shape"]),
    ("nested", &["100 deep"]),
    ("no_graph", &["no graph"]),
    ("self_cycle", &["'node_0'", "its own output"]),
    ("short_initializer", &["'w'", "needs 16 bytes and has 12"]),
    ("strange_dtype", &["'w'", "element type 99"]),
    ("text", &["not an ONNX model"]),
    ("truncated", &["cut short"]),
    ("unknown_domain", &["com.example.Fused", "'vendor_node'"]),
    ("unknown_operator", &["Frobnicate", "'needs_frobnicate'"]),
    ("wrapping_initializer", &["'w'", "impossible shape"]),
];

#[test]
fn what_must_be_refused_is_refused_in_one_readable_sentence() {
    let mut wrong = Vec::new();
    for (name, fixture) in members(&json("fixtures/index.json")["fixtures"]) {
        if fixture["fate"] == "runs" {
            continue;
        }
        let path = models(&format!("fixtures/{name}.onnx"));
        let refusal = match Graph::load(&path) {
            Err(error) => Some(error.to_string()),
            Ok(graph) => refusal_of_engine(&Arc::new(graph), name, fixture),
        };
        match refusal {
            None => wrong.push(format!("{name} was not refused")),
            Some(text) if text.len() > 400 || text.contains('\n') => wrong.push(format!("{name}: {text}")),
            Some(text) => match NAMED.iter().find(|(fixture, _)| *fixture == name) {
                None => wrong.push(format!("{name}: nothing is said here of what must be named in: {text}")),
                Some((_, needles)) => {
                    let missing = needles.iter().filter(|needle| !text.contains(**needle));
                    wrong.extend(missing.map(|needle| format!("{name}: {needle:?} is not in: {text}")));
                }
            },
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the engine's error for a graph that it must refuse, at load or once it knows the inputs.
fn refusal_of_engine(graph: &Arc<Graph>, name: &str, fixture: &serde_json::Value) -> Option<String> {
    let refuse = |fidelity| {
        let model = match load(graph, fidelity) {
            Err(error) => return Some(error.to_string()),
            Ok(model) => model,
        };
        let inputs = match &fixture["inputs"] {
            serde_json::Value::Null => vec![tensor(&format!("fixtures/{name}.input.x.npy"))],
            files => inputs(graph, "fixtures/", files),
        };
        model.plan(&inputs).err().map(|error| error.to_string())
    };
    let [exact, optimised] = FIDELITIES.map(refuse);
    optimised.and(exact)
}
