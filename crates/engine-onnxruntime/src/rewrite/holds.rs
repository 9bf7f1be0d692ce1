//! Makes the library hold values for some operators longer than necessary, so that another thread can read them.
//!
//! The library reuses a value's memory once the last node that takes the value was executed. So a later tap also takes
//! the value, without passing it on. It also keeps operators from computing in the value's memory, because another node
//! has yet to take it.

use std::collections::{HashMap, HashSet};

use opscope_onnx::{Graph, OperatorId, ValueId};

use super::taps::Taps;
use crate::names::{self, TAP_OF_ONE};
use crate::proto::ModelProto;

/// After how many operators a value is given up: enough that the other thread may be a little late, and few enough that
/// the held values stay in the caches.
const DISTANCE: usize = 6;

/// The values that the library holds longer than necessary.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    /// For each tap, the values that are held until it is executed.
    pub until: Vec<Vec<ValueId>>,
    /// All held values.
    pub values: HashSet<ValueId>,
}

/// Adds values to the inputs of the taps behind the operators of the main graph. `order` is the order of execution.
///
/// A value that no node takes is not held, because taking it would change the order. Apart from that the order stays
/// the same: each tap is executed after the values that it holds were computed anyway.
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
    // For each position in the order, the tap that can take further values, and its node.
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

/// Returns the values that a node other than their producer overwrites: the mean and the variance of a
/// BatchNormalization in training.
fn changed_in_place(graph: &Graph) -> HashSet<ValueId> {
    let trains = graph
        .operators
        .iter()
        .filter(|operator| operator.op_type == "BatchNormalization" && operator.outputs.len() > 1);
    trains.flat_map(|operator| operator.inputs.iter().skip(3).flatten().copied()).collect()
}
