use std::collections::BTreeMap;
use std::sync::Arc;

use opscope_onnx::{Graph, Producer, Value, ValueId};
use opscope_tensor::{DType, Digest};
use serde::{Deserialize, Serialize};

use super::{Perform, Reply, most, saturated};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::ModelId;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::session::{Attachment, LoadedModel};

/// The maximum number of values in an answer to `values`.
pub const MOST_VALUES: usize = 4096;

/// The models that are loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelsRequest {}

/// The answer to `models`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelList {
    /// The models.
    pub models: Vec<LoadedModel>,
}

/// A description of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The model.
    pub model: ModelId,
}

/// The answer to `model`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Its number.
    pub model: ModelId,
    /// The graph's name in the file.
    pub name: String,
    /// The file.
    pub path: String,
    /// XXH3 (64 bit) of the file's bytes, in hexadecimal.
    pub xxh3: Digest,
    /// The program that wrote the file, where the file says so.
    pub producer: String,
    /// The version of each set of operators; ONNX's own is the empty name.
    pub opsets: BTreeMap<String, i64>,
    /// How many operators it has.
    pub operators: u32,
    /// How many initializers it has.
    pub initializers: u32,
    /// The inputs of a run.
    pub inputs: Vec<ValueInfo>,
    /// The outputs of a run.
    pub outputs: Vec<ValueInfo>,
}

/// Values of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ValuesRequest {
    /// The model.
    pub model: ModelId,
    /// How many of them are skipped at the beginning.
    #[serde(default)]
    pub offset: u64,
    /// The largest number of values in the answer.
    #[serde(default = "most")]
    pub most: u64,
}

/// The answer to `values`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueRows {
    /// How many the model has.
    pub total: u64,
    /// Those that this answer lists.
    pub values: Vec<ValueInfo>,
}

/// A value of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueInfo {
    /// Its name in the file.
    pub name: String,
    /// The type of its elements, where the file says so.
    pub dtype: Option<DType>,
    /// Its dimensions, where the file says so: numbers, names, or `?`.
    pub shape: Option<Vec<String>>,
    /// Where it comes from.
    pub producer: ProducerInfo,
    /// The operators that take it, by their indices.
    pub consumers: Vec<u32>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProducerInfo {
    /// It is an input of the model.
    Input,
    /// It is an initializer of the file.
    Initializer,
    /// It is computed by the operator with this index.
    Operator(u32),
}

/// The maximum number of values, consumers or attributes that are listed of one operator.
pub(super) const MOST_OF_ONE: usize = 1024;

/// The maximum number of consumers of all values in an answer. A single value may have more.
const MOST_CONSUMERS: usize = 1 << 16;

impl Request for ModelsRequest {
    const NAME: &'static str = "models";
    const PURPOSE: &'static str = "lists the models that are loaded";
    type Answer = ModelList;
}

impl Perform for ModelsRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<ModelList>, Refusal> {
        Ok(Reply::of(&ModelList { models: attachment.status()?.models }))
    }
}

impl Request for ModelRequest {
    const NAME: &'static str = "model";
    const PURPOSE: &'static str = "describes a model";
    type Answer = ModelInfo;
}

impl Perform for ModelRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<ModelInfo>, Refusal> {
        let graph = graph(attachment, self.model)?;
        let values = |ids: &[ValueId]| ids.iter().take(MOST_OF_ONE).map(|&id| value(graph.value(id))).collect();
        Ok(Reply::of(&ModelInfo {
            model: self.model,
            name: graph.name.clone(),
            path: graph.source.path.display().to_string(),
            xxh3: graph.source.xxh3,
            producer: graph.source.producer.clone(),
            opsets: graph.opsets.clone(),
            operators: graph.all_operators().count() as u32,
            initializers: graph.all_values().filter(|value| value.producer == Producer::Initializer).count() as u32,
            inputs: values(&graph.inputs),
            outputs: values(&graph.outputs),
        }))
    }
}

impl Request for ValuesRequest {
    const NAME: &'static str = "values";
    const PURPOSE: &'static str = "lists the values of a model";
    type Answer = ValueRows;
}

impl Perform for ValuesRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<ValueRows>, Refusal> {
        let graph = graph(attachment, self.model)?;
        let (mut values, mut consumers) = (Vec::new(), 0);
        for next in graph.all_values().skip(saturated(self.offset)).take(saturated(self.most).min(MOST_VALUES)) {
            if consumers > MOST_CONSUMERS {
                break;
            }
            values.push(value(next));
            consumers += next.consumers.len().min(MOST_OF_ONE);
        }
        Ok(Reply::of(&ValueRows { total: graph.all_values().count() as u64, values }))
    }
}

/// Returns the graph of a model.
pub(super) fn graph(attachment: &Attachment, model: ModelId) -> Result<Arc<Graph>, Refusal> {
    attachment.graph(model)?.ok_or_else(|| Refusal::new(ErrorCode::NoSuchModel, format!("there is no model {model}")))
}

/// Describes a value.
pub(super) fn value(value: &Value) -> ValueInfo {
    ValueInfo {
        name: value.name.clone(),
        dtype: value.dtype,
        shape: value.shape.as_ref().map(|shape| shape.iter().map(ToString::to_string).collect()),
        producer: match value.producer {
            Producer::Input => ProducerInfo::Input,
            Producer::Initializer => ProducerInfo::Initializer,
            Producer::Operator(operator, _) => ProducerInfo::Operator(operator.index() as u32),
        },
        consumers: value.consumers.iter().take(MOST_OF_ONE).map(|id| id.index() as u32).collect(),
    }
}

/// All errors come from the program or from the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Returns the models that are loaded.
    pub fn models(&self) -> Result<Vec<LoadedModel>, DebugError> {
        Ok(self.ask(&ModelsRequest {})?.models)
    }

    /// Describes a model.
    pub fn model(&self, model: ModelId) -> Result<ModelInfo, DebugError> {
        self.ask(&ModelRequest { model })
    }

    /// Returns the values of a model, each once. The first `offset` are skipped. The answer has at most `most`, and at
    /// most [`MOST_VALUES`].
    pub fn values(&self, model: ModelId, offset: usize, most: usize) -> Result<ValueRows, DebugError> {
        self.ask(&ValuesRequest { model, offset: offset as u64, most: most as u64 })
    }
}
