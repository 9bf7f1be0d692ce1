use std::collections::HashMap;
use std::sync::Arc;

use opscope_onnx::Graph;
use opscope_tensor::DType;
use opscope_tensor::Digest;
use opscope_tensor::Tensor;
use serde::{Deserialize, Serialize};

use super::outcome::RunOutcome;

/// An input of the model in the manifest, with enough information to tell whether two runs had the same data.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InputEntry {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// XXH3 (64 bit) of its data, as 16 hexadecimal digits.
    pub xxh3: Digest,
    /// The file that has its data, relative to the manifest. Dumps of programs have it for what the first step was
    /// given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

impl InputEntry {
    /// Describes the inputs of a run, by the slots of the model's inputs. Reads all of the data once.
    pub fn of(graph: &Graph, inputs: &[Tensor]) -> Arc<[InputEntry]> {
        let entry = |(&id, tensor): (_, &Tensor)| InputEntry {
            name: graph.value(id).name.clone(),
            dtype: tensor.dtype(),
            shape: tensor.shape().to_vec(),
            xxh3: Digest::of(tensor.bytes()),
            file: None,
        };
        graph.inputs.iter().zip(inputs).map(entry).collect()
    }
}

/// Returns the distinct sets of inputs, and for each run the index of its set; `None` if its inputs are not known.
pub(crate) fn sets(runs: &[RunOutcome]) -> (Vec<Vec<InputEntry>>, Vec<Option<usize>>) {
    let mut sets = Vec::new();
    let mut places: HashMap<&[InputEntry], usize> = HashMap::new();
    let mut place = |inputs| {
        *places.entry(inputs).or_insert_with(|| {
            sets.push(inputs.to_vec());
            sets.len() - 1
        })
    };
    let of_runs = runs.iter().map(|run| run.inputs.as_deref().map(&mut place)).collect();
    (sets, of_runs)
}
