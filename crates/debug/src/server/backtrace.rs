use std::iter::successors;

use opscope_onnx::{Graph, OperatorId, Producer, ValueId};

use super::graphs;
use crate::protocol::{Backtrace, BacktraceFrame};
use crate::{Attachment, DebugError, Sequence};

/// The most frames.
const MOST: usize = 4096;

/// The operators that led to where a run is stopped: the one that it is at, then again and again the one that was executed
/// last among those that made its inputs. So the chain is the latest one, and each frame comes earlier in the order of
/// execution than the one before.
pub(super) fn of(attachment: &Attachment, event: Sequence, most: usize) -> Result<Backtrace, DebugError> {
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
            value: value.map(|value| graph.value(value).name.clone()),
        }
    };
    let total = way.clone().count() as u64;
    Ok(Backtrace { frames: way.take(most.min(MOST)).map(frame).collect(), total })
}

/// The operator that was executed last among those that made an operator's inputs, and what it gave.
fn latest(graph: &Graph, id: OperatorId) -> Option<(OperatorId, ValueId)> {
    let operator = graph.operator(id);
    let made = operator.inputs.iter().flatten().chain(&operator.captures).filter_map(|&value| {
        match graph.value(value).producer {
            Producer::Operator(producer, _) if producer < id => Some((producer, value)),
            _ => None,
        }
    });
    made.max_by_key(|(producer, _)| *producer)
}
