//! Has the library hold values for some operators longer than it needs them, so that another thread can read them.
//!
//! The library uses a value's memory again once the last node that takes the value was executed. So a tap further on takes it, too,
//! and hands nothing on for it. Nor does an operator compute in the memory of a value that another node has yet to take.

use std::collections::{HashMap, HashSet};

use opscope_onnx::{Graph, OperatorId, ValueId};

use super::taps::Taps;
use crate::names::{self, TAP_OF_ONE};
use crate::proto::ModelProto;

/// How many operators further on a value is given up: enough for the other thread to be a little late, and so few that what is held
/// stays in the caches.
const DISTANCE: usize = 6;

/// What the library holds longer than it needs it.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// For each tap, the values that it has the library hold until then.
    pub until: Vec<Vec<ValueId>>,
    /// All of these values.
    pub values: HashSet<ValueId>,
}

/// Adds values to what the taps behind the operators of the main graph take. The operators are given in the order of their execution.
///
/// A value that no node takes is not held: to take it would change the order. The order stays as it is otherwise, because a tap comes
/// to what it holds after it has come to the operator in front of it.
pub(crate) fn hold(graph: &Graph, model: &mut ModelProto, taps: &Taps, order: &[OperatorId]) -> Holds {
    let mut holds = Holds { until: vec![Vec::new(); taps.taps.len()], values: HashSet::new() };
    let changed = changed_in_place(graph);
    let Some(graph) = &mut model.graph else { return holds };
    let taken: HashSet<String> = graph.node.iter().flat_map(|node| &node.input).cloned().collect();
    let nodes: HashMap<String, usize> =
        graph.node.iter().enumerate().map(|(index, node)| (node.name.clone(), index)).collect();
    let mut behind: HashMap<OperatorId, Vec<usize>> = HashMap::new();
    for (number, _) in taps.taps.iter().enumerate().filter(|(_, tap)| !tap.in_front) {
        behind.entry(taps.taps[number].operator).or_default().push(number);
    }
    // For each place in the order, the tap that can take further values, and its node.
    let holder = |operator: &OperatorId| {
        let number = *behind.get(operator)?.first()?;
        let node = *nodes.get(&names::of_tap(number))?;
        (graph.node[node].op_type != TAP_OF_ONE).then_some((number, node))
    };
    let holders: Vec<Option<(usize, usize)>> = order.iter().map(holder).collect();
    for (place, operator) in order.iter().enumerate() {
        let next = holders.iter().skip(place + DISTANCE).flatten().next();
        let last = || holders.iter().skip(place + 1).flatten().next_back();
        let Some(&(number, node)) = next.or_else(last) else { continue };
        for &tap in behind.get(operator).into_iter().flatten() {
            for &value in &taps.taps[tap].values {
                let name = names::of_value(value);
                if taken.contains(&name) && !changed.contains(&value) {
                    graph.node[node].input.push(name);
                    holds.until[number].push(value);
                    holds.values.insert(value);
                }
            }
        }
    }
    holds
}

/// Returns the values that the library writes to whoever else takes them: the mean and the variance of a BatchNormalization that trains.
fn changed_in_place(graph: &Graph) -> HashSet<ValueId> {
    let trains = graph
        .operators
        .iter()
        .filter(|operator| operator.op_type == "BatchNormalization" && operator.outputs.len() > 1);
    trains.flat_map(|operator| operator.inputs.iter().skip(3).flatten().copied()).collect()
}
