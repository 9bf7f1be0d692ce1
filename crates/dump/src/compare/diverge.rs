use std::collections::HashMap;

use opscope_onnx::{Graph, Operator, Producer};

use super::given::Given;
use super::{CompareOptions, Comparison, Row, Verdict};
use crate::{Io, StoredOrigin};

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
    /// Whether both sides were given the same, where it is an input of the model and that is known.
    pub given: Verdict,
}

/// Where an error comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blame {
    /// All that the operator takes is what the reference says, so it is this operator.
    Operator,
    /// What the operator takes was different already.
    Inputs,
    /// All that is computed is what the reference says, but initializers that it takes are not the same.
    Initializers(Vec<String>),
    /// What it takes was not captured, or only in part.
    Unknown,
}

/// Puts the rows in order and looks for the first operator that diverges.
pub(super) fn finished(mut comparison: Comparison, given: &Given<'_>, options: &CompareOptions) -> Comparison {
    let graph = options.graph.as_deref();
    let order = graph.map(order);
    let place = |place: &StoredOrigin| {
        let order = order.as_ref()?;
        place
            .operator
            .as_deref()
            .and_then(|name| order.operators.get(name))
            .or_else(|| order.values.get(place.value.as_deref()?))
    };
    // A stable sort: what the graph does not know stays where it came.
    comparison.rows.sort_by_key(|row| (row.place.run, place(&row.place).copied()));
    let differs = |row: &Row| row.verdict() == Verdict::Different;
    let first = comparison.rows.iter().position(|row| differs(row) && row.place.io != Some(Io::Input));
    let first = first.or_else(|| comparison.rows.iter().position(differs));
    comparison.divergence = first.map(|row| divergence(&comparison.rows, row, given, options));
    comparison.inputs = given.differing(&comparison.rows, options);
    comparison.initializers.clone_from(&options.initializers);
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

fn divergence(rows: &[Row], row: usize, given: &Given<'_>, options: &CompareOptions) -> Divergence {
    let graph = options.graph.as_deref();
    let operator = graph.and_then(|graph| operator(&rows[row].place, graph));
    let inputs = match graph.zip(operator) {
        Some((graph, operator)) => {
            let given = |name: &str| given.verdict(&rows[row], name, options);
            computed_inputs(rows, row, graph, operator, given)
        }
        None => captured_inputs(rows, row),
    };
    let verdicts: Vec<Verdict> =
        inputs.iter().map(|input| input.row.map_or(input.given, |row| rows[row].verdict())).collect();
    let changed = || {
        let (graph, operator) = graph.zip(operator)?;
        let names = operator.inputs.iter().flatten().map(|&value| &graph.value(value).name);
        let changed: Vec<String> = names.filter(|name| options.initializers.contains(name)).cloned().collect();
        (!changed.is_empty()).then_some(changed)
    };
    let blame = match verdicts.iter().max() {
        Some(Verdict::Different) => Blame::Inputs,
        Some(Verdict::Unknown) => Blame::Unknown,
        // Without the graph it is not known whether the operator takes more than was captured.
        None if operator.is_none() => Blame::Unknown,
        Some(Verdict::Same) | None => changed().map_or(Blame::Operator, Blame::Initializers),
    };
    Divergence { row, inputs, blame }
}

/// The operator that gives a tensor, by its name or that of its value.
fn operator<'g>(place: &StoredOrigin, graph: &'g Graph) -> Option<&'g Operator> {
    let by_name = place.operator.as_deref().and_then(|name| graph.operator_named(name));
    let gives = |operator: &&Operator| {
        operator.outputs.iter().flatten().any(|&value| Some(&graph.value(value).name) == place.value.as_ref())
    };
    by_name.or_else(|| graph.operators.iter().find(gives))
}

fn same_run(one: &StoredOrigin, other: &StoredOrigin) -> bool {
    other.run == one.run || other.run.is_none() || one.run.is_none()
}

/// What the operator of a row takes, as far as its inputs were captured.
fn captured_inputs(rows: &[Row], row: usize) -> Vec<InputRow> {
    let place = &rows[row].place;
    let captured = |index: &usize| {
        let other = &rows[*index].place;
        let same_operator = other.operator.is_some() && other.operator == place.operator;
        same_run(place, other) && other.io == Some(Io::Input) && same_operator
    };
    let of_row = |index: usize| InputRow {
        slot: rows[index].place.slot.unwrap_or(0),
        value: rows[index].place.label(),
        row: Some(index),
        given: Verdict::Unknown,
    };
    (0..rows.len()).filter(captured).map(of_row).collect()
}

/// What the operator of a row takes, as the graph says, without initializers.
fn computed_inputs(
    rows: &[Row],
    row: usize,
    graph: &Graph,
    operator: &Operator,
    given: impl Fn(&str) -> Verdict,
) -> Vec<InputRow> {
    let place = &rows[row].place;
    let values = operator.inputs.iter().enumerate().filter_map(|(slot, value)| Some((slot, graph.value((*value)?))));
    let computed = values.filter(|(_, value)| value.producer != Producer::Initializer);
    computed
        .map(|(slot, value)| {
            let of_value = |index: &usize| {
                let other = &rows[*index].place;
                same_run(place, other) && other.value.as_ref() == Some(&value.name)
            };
            InputRow {
                slot,
                value: value.name.clone(),
                row: (0..rows.len()).find(of_value),
                given: if value.producer == Producer::Input { given(&value.name) } else { Verdict::Unknown },
            }
        })
        .collect()
}
