use std::collections::HashMap;

use opscope_onnx::Graph;

use super::{Comparison, Row};
use crate::{Io, Place};

/// The first operator whose output is not what the reference says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Its row in [`Comparison::rows`].
    pub row: usize,
    /// What it takes, by slot.
    pub inputs: Vec<InputRow>,
    /// Whether it is this operator.
    pub blame: Blame,
}

/// What an operator takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRow {
    /// The slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// The row that compares it; none where it was not captured.
    pub row: Option<usize>,
}

/// Where an error comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// All that the operator takes is what the reference says, so it is this operator.
    Operator,
    /// What the operator takes was different already.
    Inputs,
    /// What it takes was not captured, or only in part.
    Unknown,
}

/// Puts the rows in order and looks for the first operator that diverges.
pub(super) fn finished(mut comparison: Comparison, graph: Option<&Graph>) -> Comparison {
    let order = graph.map(order);
    let place = |place: &Place| {
        let order = order.as_ref()?;
        place
            .operator
            .as_deref()
            .and_then(|name| order.operators.get(name))
            .or_else(|| order.values.get(place.value.as_deref()?))
    };
    // A stable sort: what the graph does not know stays where it came.
    comparison.rows.sort_by_key(|row| (row.place.run, place(&row.place).copied()));
    let first = comparison.rows.iter().position(|row| !row.is_within() && row.place.io != Some(Io::Input));
    let first = first.or_else(|| comparison.rows.iter().position(|row| !row.is_within()));
    comparison.divergence = first.map(|row| divergence(&comparison.rows, row, graph));
    comparison
}

/// The places of operators in the graph, by their names and by those of their outputs.
struct Order<'g> {
    operators: HashMap<&'g str, usize>,
    values: HashMap<&'g str, usize>,
}

fn order(graph: &Graph) -> Order<'_> {
    let mut order = Order { operators: HashMap::new(), values: HashMap::new() };
    for operator in &graph.operators {
        order.operators.insert(&operator.name, operator.id.index());
        for output in operator.outputs.iter().flatten() {
            order.values.insert(&graph.value(*output).name, operator.id.index());
        }
    }
    order
}

fn divergence(rows: &[Row], row: usize, graph: Option<&Graph>) -> Divergence {
    let inputs = inputs(rows, row, graph);
    let found: Vec<&Row> = inputs.iter().filter_map(|input| Some(&rows[input.row?])).collect();
    let blame = if found.iter().any(|row| !row.is_within()) {
        Blame::Inputs
    } else if !inputs.is_empty() && found.len() == inputs.len() {
        Blame::Operator
    } else {
        Blame::Unknown
    };
    Divergence { row, inputs, blame }
}

/// What the operator of a row takes: as the graph says, or as far as inputs were captured.
fn inputs(rows: &[Row], row: usize, graph: Option<&Graph>) -> Vec<InputRow> {
    let place = &rows[row].place;
    let same_run = |other: &Place| other.run == place.run || other.run.is_none() || place.run.is_none();
    let captured = |index: usize| {
        let other = &rows[index].place;
        same_run(other) && other.io == Some(Io::Input) && other.operator.is_some() && other.operator == place.operator
    };
    let from_rows = || {
        let of_row = |index: usize| InputRow {
            slot: rows[index].place.slot.unwrap_or(0),
            value: rows[index].place.label(),
            row: Some(index),
        };
        (0..rows.len()).filter(|&index| captured(index)).map(of_row).collect()
    };
    let operator = graph.and_then(|graph| {
        let by_name = place.operator.as_deref().and_then(|name| graph.operator_named(name));
        let by_value = || {
            graph.operators.iter().find(|operator| {
                operator.outputs.iter().flatten().any(|&value| Some(&graph.value(value).name) == place.value.as_ref())
            })
        };
        Some((graph, by_name.or_else(by_value)?))
    });
    let Some((graph, operator)) = operator else { return from_rows() };
    let values = operator.inputs.iter().enumerate().filter_map(|(slot, value)| Some((slot, (*value)?)));
    let computed =
        values.filter(|(_, value)| !matches!(graph.value(*value).producer, opscope_onnx::Producer::Initializer));
    computed
        .map(|(slot, value)| {
            let name = &graph.value(value).name;
            let of_value =
                |index: &usize| same_run(&rows[*index].place) && rows[*index].place.value.as_ref() == Some(name);
            InputRow { slot, value: name.clone(), row: (0..rows.len()).find(of_value) }
        })
        .collect()
}
