use opscope_onnx::{CodeOrigin, Graph, Operator, OperatorId, ValueId};
use serde::{Deserialize, Serialize};

use super::models::{MOST_OF_ONE, graph, value};
use super::{PAGE_BYTES, Perform, Reply, ValueInfo, check_pattern, listing, most, saturated};
use crate::breakpoint::{OperatorMapping, Target};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::ModelId;
use crate::remote::client::{Client, not_understood};
use crate::remote::protocol::Request;
use crate::session::Attachment;

/// The maximum number of operators in an answer to `operators`.
pub const MOST_OPERATORS: usize = 4096;

/// Operators of a model, in the order of execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorsRequest {
    /// The model.
    pub model: ModelId,
    /// The operators, in the syntax of a breakpoint's target.
    #[serde(default = "every")]
    pub pattern: String,
    /// How many of them are skipped at the beginning.
    #[serde(default)]
    pub offset: u64,
    /// The largest number of operators in the answer.
    #[serde(default = "most")]
    pub most: u64,
}

/// The answer to `operators`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorRows {
    /// How many match the pattern.
    pub total: u64,
    /// Those that this answer lists.
    pub operators: Vec<OperatorRow>,
}

/// An operator in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorRow {
    /// Its index in the graph. Its line in the listing is one more.
    pub index: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// How it maps to the kernels of the engine.
    #[serde(flatten)]
    pub mapping: OperatorMapping,
    /// The names of its inputs by slot; `None` for an omitted one.
    pub inputs: Vec<Option<String>>,
    /// Its outputs, in the same way.
    pub outputs: Vec<Option<String>>,
}

/// A description of one operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperatorRequest {
    /// The model.
    pub model: ModelId,
    /// Its index in the graph.
    pub operator: u32,
}

/// The answer to `operator`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorInfo {
    /// Its index in the graph.
    pub index: u32,
    /// Its name in the file.
    pub name: String,
    /// Its type.
    pub op_type: String,
    /// Its position in the program that the file was exported from, if the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
    /// The set of operators that the type belongs to; empty for ONNX's own.
    pub domain: String,
    /// How it maps to the kernels of the engine.
    #[serde(flatten)]
    pub mapping: OperatorMapping,
    /// Its attributes: name and value as text.
    pub attributes: Vec<(String, String)>,
    /// Its inputs by slot; `None` for an omitted one.
    pub inputs: Vec<Option<ValueInfo>>,
    /// Its outputs, in the same way.
    pub outputs: Vec<Option<ValueInfo>>,
    /// Values of the graph that a graph inside of it uses.
    pub captures: Vec<ValueInfo>,
}

/// The listing of a model, a line per operator, in the attachment of the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceRequest {
    /// The model.
    pub model: ModelId,
    /// The first line, from 1.
    #[serde(default = "first")]
    pub line: u64,
    /// How many lines; fewer if an answer is full.
    #[serde(default = "most")]
    pub most: u64,
}

/// Lines of a model's listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceText {
    /// How many lines the listing has.
    pub total: u64,
    /// The first line that is given, from 1.
    pub line: u64,
    /// How many lines are given.
    pub lines: u64,
    /// The lines, each with a line feed at its end. They are sent in the attachment.
    #[serde(skip)]
    pub text: String,
}

impl Request for OperatorsRequest {
    const NAME: &'static str = "operators";
    const PURPOSE: &'static str = "lists the operators of a model that match a pattern";
    type Answer = OperatorRows;
}

impl Perform for OperatorsRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<OperatorRows>, Refusal> {
        check_pattern(&self.pattern)?;
        let target: Target = self.pattern.parse().map_err(DebugError::from)?;
        let graph = graph(attachment, self.model)?;
        let mappings = attachment.mappings(self.model)?;
        let fitting = target.operators(&graph);
        let (offset, most) = (saturated(self.offset), saturated(self.most).min(MOST_OPERATORS));
        let rows = fitting.iter().skip(offset).take(most).map(|operator| OperatorRow {
            index: operator.id.index() as u32,
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            origin: operator.origin.clone(),
            mapping: mapping(&mappings, operator),
            inputs: names(&graph, &operator.inputs),
            outputs: names(&graph, &operator.outputs),
        });
        Ok(Reply::of(&OperatorRows { total: fitting.len() as u64, operators: rows.collect() }))
    }
}

impl Request for OperatorRequest {
    const NAME: &'static str = "operator";
    const PURPOSE: &'static str = "describes an operator";
    type Answer = OperatorInfo;
}

impl Perform for OperatorRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<OperatorInfo>, Refusal> {
        let Self { model, operator: index } = self;
        let graph = graph(attachment, model)?;
        let count = graph.all_operators().count();
        let operator = graph.all_operators().nth(index as usize).ok_or_else(|| {
            Refusal::new(
                ErrorCode::NoSuchOperator,
                format!("there is no operator {index}; model {model} has {count}, from 0"),
            )
        })?;
        let slots = |ids: &[Option<ValueId>]| {
            ids.iter().take(MOST_OF_ONE).map(|id| id.map(|id| value(graph.value(id)))).collect()
        };
        let attributes = operator.attributes.iter().take(MOST_OF_ONE);
        Ok(Reply::of(&OperatorInfo {
            index,
            name: operator.name.clone(),
            op_type: operator.op_type.clone(),
            origin: operator.origin.clone(),
            domain: operator.domain.clone(),
            mapping: mapping(&attachment.mappings(model)?, operator),
            attributes: attributes.map(|(name, value)| (name.clone(), value.to_string())).collect(),
            inputs: slots(&operator.inputs),
            outputs: slots(&operator.outputs),
            captures: operator.captures.iter().take(MOST_OF_ONE).map(|&id| value(graph.value(id))).collect(),
        }))
    }
}

impl Request for SourceRequest {
    const NAME: &'static str = "source";
    const PURPOSE: &'static str = "the listing of a model";
    type Answer = SourceText;
}

impl Perform for SourceRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<SourceText>, Refusal> {
        let (line, most) = (saturated(self.line), saturated(self.most));
        let graph = graph(attachment, self.model)?;
        let total = graph.all_operators().count();
        if line == 0 {
            return Err(Refusal::new(ErrorCode::Offset, "lines are counted from 1"));
        }
        let (mut text, mut lines) = (String::new(), 0);
        for index in (line - 1..total).take(most) {
            let next = listing::line(&graph, OperatorId::new(index as u32));
            if text.len() + next.len() >= PAGE_BYTES {
                break;
            }
            text.push_str(&next);
            text.push('\n');
            lines += 1;
        }
        let source = SourceText { total: total as u64, line: line as u64, lines, text: String::new() };
        Ok(Reply::of(&source).with_attachment(text.into_bytes()))
    }
}

fn mapping(mappings: &[OperatorMapping], operator: &Operator) -> OperatorMapping {
    mappings.get(operator.id.index()).cloned().unwrap_or(OperatorMapping::Pending)
}

fn names(graph: &Graph, slots: &[Option<ValueId>]) -> Vec<Option<String>> {
    slots.iter().take(MOST_OF_ONE).map(|slot| slot.map(|id| graph.value(id).name.clone())).collect()
}

fn first() -> u64 {
    1
}

fn every() -> String {
    "*".to_owned()
}

/// All errors come from the program or from the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Returns the operators of a model that match a pattern, in the order of execution. The pattern is written as a
    /// breakpoint's [target](Target). The first `offset` are skipped. The answer has at most `most`, and at most
    /// [`MOST_OPERATORS`].
    pub fn operators(
        &self,
        model: ModelId,
        pattern: &str,
        offset: usize,
        most: usize,
    ) -> Result<OperatorRows, DebugError> {
        let (offset, most) = (offset as u64, most as u64);
        self.ask(&OperatorsRequest { model, pattern: pattern.to_owned(), offset, most })
    }

    /// Describes the operator with this index.
    pub fn operator(&self, model: ModelId, operator: u32) -> Result<OperatorInfo, DebugError> {
        self.ask(&OperatorRequest { model, operator })
    }

    /// Returns the listing of a model, beginning with a line: at most `most` lines, and no more than fit into an
    /// answer. Lines are numbered from 1, and line 1 is operator 0.
    pub fn source(&self, model: ModelId, line: usize, most: usize) -> Result<SourceText, DebugError> {
        let request = SourceRequest { model, line: line as u64, most: most as u64 };
        let (source, text) = self.ask_with(&request, &[])?;
        Ok(SourceText { text: String::from_utf8(text).map_err(not_understood)?, ..source })
    }
}
