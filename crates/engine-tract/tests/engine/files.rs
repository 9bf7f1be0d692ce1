//! The models and fixtures of `models/`, and how results are compared with the outputs that are stored beside them.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_engine_tract::TractEngine;
use opscope_model::{Engine, EngineError, Fidelity, LoadOptions, Model, NoObserver, Plan, RunId};
use opscope_onnx::Graph;
use opscope_tensor::{DType, DifferenceAccumulator, Tensor, Tolerance, npy};
use serde_json::Value as Json;

pub const MODELS: [&str; 3] = ["digits_cnn", "tiny_transformer", "token_classifier"];
pub const FIDELITIES: [Fidelity; 2] = [Fidelity::Exact, Fidelity::Optimised];

/// Returns the directory `models/`, or a file in it.
pub fn models(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(path)
}

pub fn json(path: &str) -> Json {
    serde_json::from_slice(&fs::read(models(path)).unwrap()).unwrap()
}

pub fn tensor(path: &str) -> Tensor {
    npy::read_file(&models(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn graph(path: &str) -> Arc<Graph> {
    Arc::new(Graph::load(&models(path)).unwrap_or_else(|error| panic!("{path}: {error}")))
}

pub fn load(graph: &Arc<Graph>, fidelity: Fidelity) -> Result<Arc<dyn Model>, EngineError> {
    let options = LoadOptions::new(fidelity, NonZeroUsize::MIN);
    TractEngine.load(Arc::clone(graph), &options)
}

/// Returns the inputs of a graph from an object of files by input name, in the graph's order.
pub fn inputs(graph: &Graph, directory: &str, files: &Json) -> Vec<Tensor> {
    let file = |name: &str| files[name].as_str().unwrap_or_else(|| panic!("no file for input '{name}'")).to_owned();
    let names = graph.inputs.iter().map(|&input| &graph.value(input).name);
    names.map(|name| tensor(&format!("{directory}{}", file(name)))).collect()
}

/// Returns a model of `models/` with its inputs, planned.
pub fn planned(model: &str, fidelity: Fidelity) -> (Arc<Graph>, Vec<Tensor>, Arc<dyn Plan>) {
    let graph = graph(&format!("{model}.onnx"));
    let inputs = inputs(&graph, "", &json(&format!("expected/{model}/index.json"))["inputs"]);
    let plan = load(&graph, fidelity).unwrap().plan(&inputs).unwrap();
    (graph, inputs, plan)
}

/// Runs without an observer.
pub fn run(plan: &dyn Plan, inputs: &[Tensor]) -> Result<Vec<Tensor>, EngineError> {
    let resident = plan.upload(inputs)?;
    let outputs = plan.run(RunId(0), &*resident, &NoObserver)?;
    Ok((0..outputs.len()).map(|index| outputs.view(index).to_tensor().unwrap()).collect())
}

/// Returns by how much two correct implementations may differ.
pub fn tolerance(dtype: DType) -> Tolerance {
    match dtype {
        DType::F32 => Tolerance { absolute: 0.0, relative: 1e-3, of_max: 5e-5 },
        other => Tolerance::of(other),
    }
}

/// Returns why a tensor is not the expected one; `None` if it is.
pub fn mismatch(found: &Tensor, expected: &Tensor) -> Option<String> {
    if (found.dtype(), found.shape()) != (expected.dtype(), expected.shape()) {
        let describe = |tensor: &Tensor| format!("{} {:?}", tensor.dtype(), tensor.shape());
        return Some(format!("{} instead of {}", describe(found), describe(expected)));
    }
    let tolerance = tolerance(expected.dtype());
    let mut differences =
        DifferenceAccumulator::new(found.dtype(), expected.dtype(), found.elements(), tolerance.relative).unwrap();
    differences.update(found.bytes(), expected.bytes());
    let difference = differences.finish();
    (!difference.is_within(&tolerance)).then(|| format!("{difference:?}"))
}

/// Returns the names and files of the members of a JSON object.
pub fn members(object: &Json) -> BTreeMap<&str, &Json> {
    object.as_object().unwrap().iter().map(|(name, member)| (name.as_str(), member)).collect()
}
