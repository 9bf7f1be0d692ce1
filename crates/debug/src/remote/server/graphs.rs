use std::sync::Arc;

use opscope_onnx::{Graph, Operator, OperatorId, Producer, Value, ValueId};

use super::listing;
use crate::breakpoint::{OperatorMapping, Target};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::ModelId;
use crate::remote::protocol::{
    MOST_OPERATORS, MOST_VALUES, ModelInfo, OperatorInfo, OperatorRow, OperatorRows, PAGE_BYTES, ProducerInfo,
    SourceText, ValueInfo, ValueRows,
};
use crate::session::Attachment;

/// The maximum number of values, consumers or attributes that are listed of one operator.
const MOST_OF_ONE: usize = 1024;

/// The maximum number of consumers of all values in an answer. A single value may have more.
const MOST_CONSUMERS: usize = 1 << 16;

/// Returns the graph of a model.
pub(super) fn graph(attachment: &Attachment, model: ModelId) -> Result<Arc<Graph>, Refusal> {
    attachment.graph(model)?.ok_or_else(|| Refusal::new(ErrorCode::NoSuchModel, format!("there is no model {model}")))
}

/// Describes a model.
pub(super) fn model(attachment: &Attachment, model: ModelId) -> Result<ModelInfo, Refusal> {
    let graph = graph(attachment, model)?;
    let values = |ids: &[ValueId]| ids.iter().take(MOST_OF_ONE).map(|&id| value(graph.value(id))).collect();
    Ok(ModelInfo {
        model,
        name: graph.name.clone(),
        path: graph.source.path.display().to_string(),
        xxh3: graph.source.xxh3,
        producer: graph.source.producer.clone(),
        opsets: graph.opsets.clone(),
        operators: graph.all_operators().count() as u32,
        initializers: graph.all_values().filter(|value| value.producer == Producer::Initializer).count() as u32,
        inputs: values(&graph.inputs),
        outputs: values(&graph.outputs),
    })
}

/// Lists the operators that match a pattern.
pub(super) fn operators(
    attachment: &Attachment,
    model: ModelId,
    pattern: &str,
    offset: usize,
    most: usize,
) -> Result<OperatorRows, Refusal> {
    let target: Target = pattern.parse().map_err(DebugError::from)?;
    let graph = graph(attachment, model)?;
    let mappings = attachment.mappings(model)?;
    let fitting = target.operators(&graph);
    let rows = fitting.iter().skip(offset).take(most.min(MOST_OPERATORS)).map(|operator| OperatorRow {
        index: operator.id.index() as u32,
        name: operator.name.clone(),
        op_type: operator.op_type.clone(),
        origin: operator.origin.clone(),
        mapping: mapping(&mappings, operator),
        inputs: names(&graph, &operator.inputs),
        outputs: names(&graph, &operator.outputs),
    });
    Ok(OperatorRows { total: fitting.len() as u64, operators: rows.collect() })
}

/// Describes an operator.
pub(super) fn operator(attachment: &Attachment, model: ModelId, index: u32) -> Result<OperatorInfo, Refusal> {
    let graph = graph(attachment, model)?;
    let count = graph.all_operators().count();
    let operator = graph.all_operators().nth(index as usize).ok_or_else(|| {
        Refusal::new(
            ErrorCode::NoSuchOperator,
            format!("there is no operator {index}; model {model} has {count}, from 0"),
        )
    })?;
    let slots =
        |ids: &[Option<ValueId>]| ids.iter().take(MOST_OF_ONE).map(|id| id.map(|id| value(graph.value(id)))).collect();
    let attributes = operator.attributes.iter().take(MOST_OF_ONE);
    Ok(OperatorInfo {
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
    })
}

/// Lists the values of a model.
pub(super) fn values(
    attachment: &Attachment,
    model: ModelId,
    offset: usize,
    most: usize,
) -> Result<ValueRows, Refusal> {
    let graph = graph(attachment, model)?;
    let (mut values, mut consumers) = (Vec::new(), 0);
    for next in graph.all_values().skip(offset).take(most.min(MOST_VALUES)) {
        if consumers > MOST_CONSUMERS {
            break;
        }
        values.push(value(next));
        consumers += next.consumers.len().min(MOST_OF_ONE);
    }
    Ok(ValueRows { total: graph.all_values().count() as u64, values })
}

/// Returns lines of the listing.
pub(super) fn source(attachment: &Attachment, model: ModelId, line: usize, most: usize) -> Result<SourceText, Refusal> {
    let graph = graph(attachment, model)?;
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
    Ok(SourceText { total: total as u64, line: line as u64, lines, text })
}

fn mapping(mappings: &[OperatorMapping], operator: &Operator) -> OperatorMapping {
    mappings.get(operator.id.index()).cloned().unwrap_or(OperatorMapping::Pending)
}

fn names(graph: &Graph, slots: &[Option<ValueId>]) -> Vec<Option<String>> {
    slots.iter().take(MOST_OF_ONE).map(|slot| slot.map(|id| graph.value(id).name.clone())).collect()
}

fn value(value: &Value) -> ValueInfo {
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
