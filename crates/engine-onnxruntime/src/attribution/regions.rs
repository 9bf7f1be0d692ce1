//! The operators that each node of the written graph stands for: those between the values that it computes and the
//! values that other nodes compute.

use std::collections::{BTreeSet, HashMap};

use opscope_model::{Attribution, is_matrix_operator, place_the_rest};
use opscope_onnx::{Graph, Operator, OperatorId, Producer, ValueId};

use super::carried_values::{CarriedValue, Carrying, named};
use super::written_graph::WrittenGraph;

/// Returns for each node the operators that it stands for; its time counts for the first of them. One of the library's
/// own conversions counts for the operator that it serves; a copy between providers counts for none.
pub(super) fn attribute(graph: &Graph, written: &WrittenGraph, carrying: &Carrying<'_>) -> Vec<Vec<Attribution>> {
    let regions = Regions::of(graph, written, carrying);
    let owners = regions.owners();
    let mut groups: Vec<Vec<Attribution>> = (0..written.nodes.len()).map(|node| regions.group(node, &owners)).collect();
    regions.lead_on(&mut groups);
    // The others were removed from the graph, because they change nothing: an Identity, or a Dropout.
    let needed = needed(graph);
    place_the_rest(graph, &mut groups, |operator| needed[operator.id.index()] && regions.runs(operator));
    regions.credit(&mut groups);
    groups
}

struct Regions<'a> {
    graph: &'a Graph,
    written: &'a WrittenGraph,
    carrying: &'a Carrying<'a>,
    /// Whether each value is computed in runs.
    computed: Vec<bool>,
    /// For each node, the operators between its values and those of other nodes.
    operators: Vec<BTreeSet<OperatorId>>,
    /// For each node, the operator that its name leads back to.
    named: Vec<Option<OperatorId>>,
}

impl<'a> Regions<'a> {
    fn of(graph: &'a Graph, written: &'a WrittenGraph, carrying: &'a Carrying<'a>) -> Self {
        let named: Vec<_> = written.nodes.iter().map(|node| named(graph, node)).collect();
        let made: Vec<Vec<CarriedValue>> = written
            .nodes
            .iter()
            .map(|node| node.given().filter_map(|output| carrying.tensors.get(output.as_str()).copied()).collect())
            .collect();
        let mut maker: HashMap<ValueId, usize> = HashMap::new();
        for (index, made) in made.iter().enumerate().filter(|(index, _)| !carrying.layouts.contains_key(index)) {
            made.iter().for_each(|carried| _ = maker.entry(carried.value).or_insert(index));
        }
        let folded = |value: ValueId| written.constants.contains(&crate::names::of_value(value));
        let computed = computed(graph, &named, |value| maker.contains_key(&value), folded);
        let region = |(index, made): (usize, &Vec<CarriedValue>)| {
            let mut found = BTreeSet::new();
            if let Some(operators) = carrying.layouts.get(&index) {
                return operators.iter().copied().collect();
            }
            let mut values: Vec<ValueId> = made.iter().map(|carried| carried.value).collect();
            while let Some(value) = values.pop() {
                let Producer::Operator(id, _) = graph.value(value).producer else { continue };
                if found.insert(id) {
                    let operator = graph.operator(id);
                    let taken = operator.inputs.iter().flatten().chain(&operator.captures).copied();
                    values.extend(taken.filter(|value| {
                        let is_main = value.index() < computed.len();
                        is_main && computed[value.index()] && maker.get(value).is_none_or(|maker| *maker == index)
                    }));
                }
            }
            found
        };
        let operators = made.iter().enumerate().map(region).collect();
        Self { graph, written, carrying, computed, operators, named }
    }

    fn runs(&self, operator: &Operator) -> bool {
        operator.outputs.iter().flatten().any(|output| self.computed[output.index()])
    }

    /// Returns the node of each operator: the one in its name, or else the first one that has the operator between its
    /// values.
    fn owners(&self) -> HashMap<OperatorId, usize> {
        let mut owners = HashMap::new();
        for (index, named) in self.named.iter().enumerate() {
            if let Some(named) = named.filter(|named| self.operators[index].contains(named)) {
                owners.entry(named).or_insert(index);
            }
        }
        for (index, operators) in self.operators.iter().enumerate() {
            operators.iter().for_each(|operator| _ = owners.entry(*operator).or_insert(index));
        }
        owners
    }

    fn group(&self, node: usize, owners: &HashMap<OperatorId, usize>) -> Vec<Attribution> {
        let own: Vec<OperatorId> = self.operators[node].iter().copied().filter(|id| owners[id] == node).collect();
        let made = self.carrying.made_by(&self.written.nodes[node]);
        let is_contested = |id: &OperatorId| self.operators[node].contains(id) && owners[id] != node;
        let is_sure = made.is_some_and(|made| made.exact) && !self.operators[node].iter().any(is_contested);
        let Some(first) = self.first(node, &own) else {
            // One of several nodes that an operator was split into.
            let named = self.named[node].filter(|_| !self.carrying.layouts.contains_key(&node));
            return named.map(|operator| Attribution { operator, exact: true }).into_iter().collect();
        };
        let rest = own.iter().rev().copied().filter(|id| *id != first);
        let exact = |operator: OperatorId| is_sure || self.named[node] == Some(operator);
        let all = std::iter::once(first).chain(rest);
        all.map(|operator| Attribution { operator, exact: exact(operator) }).collect()
    }

    /// Returns the operator that the time of a node counts for: the matrix operator, else the one in its name, else the
    /// last one.
    fn first(&self, node: usize, own: &[OperatorId]) -> Option<OperatorId> {
        let is_matrix = |id: &OperatorId| is_matrix_operator(self.graph.operator(*id));
        let named = self.named[node].filter(|named| own.contains(named));
        let matrix = named.filter(is_matrix).or_else(|| own.iter().rev().copied().find(is_matrix));
        matrix.or(named).or(own.last().copied())
    }

    /// A node without an operator that is not a conversion is part of the nodes behind it. Gives it their operators.
    fn lead_on(&self, groups: &mut [Vec<Attribution>]) {
        let mut takers: HashMap<&str, usize> = HashMap::new();
        for (index, node) in self.written.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|input| _ = takers.entry(input).or_insert(index));
        }
        for index in (0..groups.len()).rev() {
            if !groups[index].is_empty() || self.carrying.layouts.contains_key(&index) {
                continue;
            }
            let node = &self.written.nodes[index];
            let behind = node.given().filter_map(|output| takers.get(output.as_str()));
            let first = behind.filter_map(|taker| groups[*taker].first().copied()).next();
            let before = || self.operators[index].iter().next_back().copied();
            let found = first.map(|first| first.operator).or_else(before);
            groups[index] = found.map(|operator| Attribution { operator, exact: false }).into_iter().collect();
        }
    }

    /// Credits each change of layout to the operator that needs it: one that undoes a layout, to the operator that
    /// computed the value in it; any other, to the operator that takes its value. Copies between providers are credited
    /// to none.
    fn credit(&self, groups: &mut [Vec<Attribution>]) {
        let nodes = &self.written.nodes;
        let (mut makers, mut takers) = (HashMap::new(), HashMap::new());
        for (index, node) in nodes.iter().enumerate() {
            node.given().for_each(|output| _ = makers.entry(output.as_str()).or_insert(index));
            node.inputs.iter().for_each(|input| _ = takers.entry(input.as_str()).or_insert(index));
        }
        let is_change =
            |index: usize| self.carrying.layouts.contains_key(&index) && !nodes[index].op_type.starts_with("Memcpy");
        let unserved: Vec<usize> =
            (0..nodes.len()).filter(|&index| groups[index].is_empty() && is_change(index)).collect();
        for index in unserved {
            // Several conversions may be chained.
            let served = |next: &dyn Fn(usize) -> Option<usize>| {
                let path =
                    std::iter::successors(next(index), |&at| if groups[at].is_empty() { next(at) } else { None });
                path.take(nodes.len()).find_map(|at| groups[at].first().map(|first| first.operator))
            };
            let before = || served(&|at| makers.get(nodes[at].inputs.first()?.as_str()).copied());
            let behind = || served(&|at| nodes[at].given().find_map(|output| takers.get(output.as_str()).copied()));
            let operator = match nodes[index].op_type.as_str() {
                "ReorderOutput" => before().or_else(behind),
                _ => behind().or_else(before),
            };
            groups[index] = operator.map(|operator| Attribution { operator, exact: false }).into_iter().collect();
        }
    }
}

/// Returns for each value whether runs compute it. The others were computed when the session was created, including
/// `Shape` and `Size` if the shapes are known and no node is left of them.
fn computed(
    graph: &Graph,
    named: &[Option<OperatorId>],
    is_made: impl Fn(ValueId) -> bool,
    is_folded: impl Fn(ValueId) -> bool,
) -> Vec<bool> {
    let has_node: BTreeSet<OperatorId> = named.iter().flatten().copied().collect();
    let mut computed = vec![false; graph.values.len()];
    graph.inputs.iter().for_each(|input| computed[input.index()] = true);
    for operator in &graph.operators {
        let outputs = || operator.outputs.iter().flatten();
        let is_left = has_node.contains(&operator.id) || outputs().any(|output| is_made(*output));
        let takes_sizes = operator.domain.is_empty() && matches!(operator.op_type.as_str(), "Shape" | "Size");
        let mut taken = operator.inputs.iter().flatten().chain(&operator.captures);
        let varies = taken.any(|input| computed.get(input.index()).copied().unwrap_or(true));
        if is_left || varies && !takes_sizes {
            for output in outputs().filter(|output| is_made(**output) || !is_folded(**output)) {
                computed[output.index()] = true;
            }
        }
    }
    computed
}

/// Returns for each operator whether an output of the model depends on it.
fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.operators.len()];
    let mut values: Vec<ValueId> = graph.outputs.clone();
    while let Some(value) = values.pop() {
        if value.index() >= graph.values.len() {
            continue;
        }
        if let Producer::Operator(id, _) = graph.value(value).producer
            && !std::mem::replace(&mut needed[id.index()], true)
        {
            let operator = graph.operator(id);
            values.extend(operator.inputs.iter().flatten().chain(&operator.captures));
        }
    }
    needed
}
