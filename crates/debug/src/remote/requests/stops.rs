use std::iter::successors;

use opscope_onnx::{CodeOrigin, Graph, OperatorId, Producer, ValueId};
use serde::{Deserialize, Serialize};

use super::models::graph;
use super::{Perform, Reply, most, saturated};
use crate::error::{DebugError, Refusal};
use crate::event::Sequence;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::run::Location;
use crate::session::{Attachment, CodeFrame};

/// See [`Attachment::location`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LocationRequest {
    /// The event at which the run is stopped.
    pub event: Sequence,
}

/// The operators that led to where a run is stopped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BacktraceRequest {
    /// The event at which the run is stopped.
    pub event: Sequence,
    /// The maximum number of frames.
    #[serde(default = "most")]
    pub most: u64,
}

/// The chain of operators that led to where a run is stopped, the latest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backtrace {
    /// The latest ones: as many as were requested, and no more than fit into an answer.
    pub frames: Vec<BacktraceFrame>,
    /// How many there are.
    #[serde(default)]
    pub total: u64,
    /// The calls in the program's own code, innermost first, if it knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<CodeFrame>,
}

/// See [`Attachment::evaluate`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EvaluateRequest {
    /// The event at which the run is stopped.
    pub event: Sequence,
    /// The expression.
    pub expression: String,
}

/// The answer to `evaluate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluated {
    /// The result, as the language of the program writes it.
    pub text: String,
}

/// An operator in a backtrace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacktraceFrame {
    /// The operator's index in the graph. Its line in the listing is one more.
    pub operator: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The output of this operator that the operator of the preceding frame took; `None` in the first frame.
    pub value: Option<String>,
}

/// The maximum number of frames in an answer.
const MOST_FRAMES: usize = 4096;

impl Request for LocationRequest {
    const NAME: &'static str = "location";
    const PURPOSE: &'static str = "where a run is stopped, and which tensors it has there";
    type Answer = Location;
}

impl Perform for LocationRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Location>, Refusal> {
        Ok(Reply::of(&attachment.location(self.event)?))
    }
}

impl Request for BacktraceRequest {
    const NAME: &'static str = "backtrace";
    const PURPOSE: &'static str = "the operators that led to where a run is stopped";
    type Answer = Backtrace;
}

impl Perform for BacktraceRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Backtrace>, Refusal> {
        Ok(Reply::of(&backtrace(attachment, self.event, saturated(self.most))?))
    }
}

impl Request for EvaluateRequest {
    const NAME: &'static str = "evaluate";
    const PURPOSE: &'static str = "evaluates an expression of the program's language where a run is stopped";
    type Answer = Evaluated;
}

impl Perform for EvaluateRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<Evaluated>, Refusal> {
        Ok(Reply::of(&Evaluated { text: attachment.evaluate(self.event, self.expression)? }))
    }
}

/// Returns the chain of operators that led to where a run is stopped. It begins with the current operator. Each
/// operator is followed by the one that was executed last among those that computed its inputs, so each frame was
/// executed before the preceding one.
fn backtrace(attachment: &Attachment, event: Sequence, most: usize) -> Result<Backtrace, Refusal> {
    let location = attachment.location(event)?;
    let graph = graph(attachment, location.model)?;
    let here = (OperatorId::new(location.place.operator), None);
    let way = successors(Some(here), |(id, _)| latest(&graph, *id).map(|(producer, value)| (producer, Some(value))));
    let frame = |(id, value): (OperatorId, Option<ValueId>)| {
        let operator = graph.operator(id);
        BacktraceFrame {
            operator: id.index() as u32,
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            origin: operator.origin.clone(),
            value: value.map(|value| graph.value(value).name.clone()),
        }
    };
    let total = way.clone().count() as u64;
    let mut code = attachment.code_frames(event)?;
    code.truncate(MOST_FRAMES);
    Ok(Backtrace { frames: way.take(most.min(MOST_FRAMES)).map(frame).collect(), total, code })
}

/// Returns the operator that was executed last among those that computed an operator's inputs, and the value between
/// them. For the first operator of a body that takes no such value, it is one of those that computed the inputs of the
/// operator around it.
fn latest(graph: &Graph, id: OperatorId) -> Option<(OperatorId, ValueId)> {
    let operator = graph.operator(id);
    let made = operator.inputs.iter().flatten().chain(&operator.captures).filter_map(|&value| {
        match graph.value(value).producer {
            Producer::Operator(producer, _) if producer < id => Some((producer, value)),
            _ => None,
        }
    });
    let around = || latest(graph, graph.body_of(id)?.owner);
    made.max_by_key(|(producer, _)| *producer).or_else(around)
}

/// All errors are those of the same call of an [`Attachment`], or those of the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// See [`Attachment::location`].
    pub fn location(&self, event: Sequence) -> Result<Location, DebugError> {
        self.ask(&LocationRequest { event })
    }

    /// Returns the chain of operators that led to where a run is stopped, at most `most` of them, and its length. It
    /// begins with the current operator. Each operator is followed by the one that was executed last among those that
    /// computed its inputs.
    pub fn backtrace(&self, event: Sequence, most: usize) -> Result<Backtrace, DebugError> {
        self.ask(&BacktraceRequest { event, most: most as u64 })
    }

    /// See [`Attachment::evaluate`].
    pub fn evaluate(&self, event: Sequence, expression: &str) -> Result<String, DebugError> {
        Ok(self.ask(&EvaluateRequest { event, expression: expression.to_owned() })?.text)
    }
}
