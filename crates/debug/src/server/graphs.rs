use std::sync::Arc;

use opscope_onnx::{Graph, Operator, OperatorId, Producer, Value, ValueId};

use super::listing;
use super::requests::refused;
use crate::protocol::{
    MOST_OPERATORS, ModelInfo, OperatorInfo, OperatorRow, OperatorRows, PAGE_BYTES, ProducerInfo, SourceText, ValueInfo,
};
use crate::{Attachment, DebugError, Fate, ModelId, Target};

/// The most names of values, consumers or attributes of one operator that are told.
const MOST_OF_ONE: usize = 1024;

pub(super) fn graph(attachment: &Attachment, model: ModelId) -> Result<Arc<Graph>, DebugError> {
    attachment.graph(model)?.ok_or_else(|| refused("no_such_model", format!("there is no model {model}")))
}

/// A model as a whole.
pub(super) fn model(attachment: &Attachment, model: ModelId) -> Result<ModelInfo, DebugError> {
    let graph = graph(attachment, model)?;
    let values = |ids: &[ValueId]| ids.iter().take(MOST_OF_ONE).map(|&id| value(graph.value(id))).collect();
    Ok(ModelInfo {
        model,
        name: graph.name.clone(),
        path: graph.source.path.display().to_string(),
        xxh3: format!("{:016x}", graph.source.xxh3),
        producer: graph.source.producer.clone(),
        opsets: graph.opsets.clone(),
        operators: graph.operators.len() as u32,
        initializers: graph.values.iter().filter(|value| value.producer == Producer::Initializer).count() as u32,
        inputs: values(&graph.inputs),
        outputs: values(&graph.outputs),
    })
}

/// Operators that fit a pattern.
pub(super) fn operators(
    attachment: &Attachment,
    model: ModelId,
    pattern: &str,
    offset: usize,
    most: usize,
) -> Result<OperatorRows, DebugError> {
    let target: Target = pattern.parse()?;
    let graph = graph(attachment, model)?;
    let fates = attachment.fates(model)?;
    let fitting = target.operators(&graph);
    let rows = fitting.iter().skip(offset).take(most.min(MOST_OPERATORS)).map(|operator| OperatorRow {
        index: operator.id.index() as u32,
        name: operator.name.clone(),
        op_type: operator.op_type.clone(),
        fate: fate(&fates, operator),
        inputs: names(&graph, &operator.inputs),
        outputs: names(&graph, &operator.outputs),
    });
    Ok(OperatorRows { total: fitting.len() as u64, operators: rows.collect() })
}

/// All about one operator.
pub(super) fn operator(attachment: &Attachment, model: ModelId, index: u32) -> Result<OperatorInfo, DebugError> {
    let graph = graph(attachment, model)?;
    let count = graph.operators.len();
    let operator = graph.operators.get(index as usize).ok_or_else(|| {
        refused("no_such_operator", format!("there is no operator {index}; model {model} has {count}, from 0"))
    })?;
    let slots =
        |ids: &[Option<ValueId>]| ids.iter().take(MOST_OF_ONE).map(|id| id.map(|id| value(graph.value(id)))).collect();
    let attributes = operator.attributes.iter().take(MOST_OF_ONE);
    Ok(OperatorInfo {
        index,
        name: operator.name.clone(),
        op_type: operator.op_type.clone(),
        domain: operator.domain.clone(),
        fate: fate(&attachment.fates(model)?, operator),
        attributes: attributes.map(|(name, value)| (name.clone(), value.to_string())).collect(),
        inputs: slots(&operator.inputs),
        outputs: slots(&operator.outputs),
        captures: operator.captures.iter().take(MOST_OF_ONE).map(|&id| value(graph.value(id))).collect(),
    })
}

/// Lines of the listing.
pub(super) fn source(
    attachment: &Attachment,
    model: ModelId,
    line: usize,
    most: usize,
) -> Result<SourceText, DebugError> {
    let graph = graph(attachment, model)?;
    let total = graph.operators.len();
    if line == 0 {
        return Err(refused("offset", "lines are counted from 1"));
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

fn fate(fates: &[Fate], operator: &Operator) -> Fate {
    fates.get(operator.id.index()).cloned().unwrap_or(Fate::Pending)
}

fn names(graph: &Graph, slots: &[Option<ValueId>]) -> Vec<Option<String>> {
    slots.iter().take(MOST_OF_ONE).map(|slot| slot.map(|id| graph.value(id).name.clone())).collect()
}

fn value(value: &Value) -> ValueInfo {
    ValueInfo {
        name: value.name.clone(),
        dtype: value.dtype.map(|dtype| dtype.name().to_owned()),
        shape: value.shape.as_ref().map(|shape| shape.iter().map(ToString::to_string).collect()),
        producer: match value.producer {
            Producer::Input => ProducerInfo::Input,
            Producer::Initializer => ProducerInfo::Initializer,
            Producer::Operator(operator, _) => ProducerInfo::Operator(operator.index() as u32),
        },
        consumers: value.consumers.iter().take(MOST_OF_ONE).map(|id| id.index() as u32).collect(),
    }
}
