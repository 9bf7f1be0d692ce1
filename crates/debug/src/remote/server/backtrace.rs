use std::iter::successors;

use opscope_onnx::{Graph, OperatorId, Producer, ValueId};

use super::graphs;
use crate::error::Refusal;
use crate::event::Sequence;
use crate::remote::protocol::{Backtrace, BacktraceFrame};
use crate::session::Attachment;

/// The maximum number of frames in an answer.
const MOST: usize = 4096;

/// Returns the chain of operators that led to where a run is stopped. It begins with the current operator. Each
/// operator is followed by the one that was executed last among those that computed its inputs, so each frame was
/// executed before the preceding one.
pub(super) fn of(attachment: &Attachment, event: Sequence, most: usize) -> Result<Backtrace, Refusal> {
    let location = attachment.location(event)?;
    let graph = graphs::graph(attachment, location.model)?;
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
    Ok(Backtrace { frames: way.take(most.min(MOST)).map(frame).collect(), total })
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
