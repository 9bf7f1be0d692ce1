use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_onnx::{Graph, Operator, OperatorId, Producer};

use super::given::Given;
use super::{CompareOptions, Comparison, Row, Verdict};
use crate::{Io, StoredOrigin};

/// The first operator whose output differs from the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// Its row in [`Comparison::rows`].
    pub row: usize,
    /// Its inputs, by slot.
    pub inputs: Vec<InputRow>,
    /// Where the error comes from.
    pub blame: Blame,
}

/// An input of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRow {
    /// The slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// The row that compares it, or `None` if it was not captured.
    pub row: Option<usize>,
    /// For an input of the model: whether both sides had the same, if that is known.
    pub given: Verdict,
}

/// Where an error comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blame {
    /// The operator itself: all its inputs agree with the reference.
    Operator,
    /// Earlier operators: an input already differs.
    Inputs,
    /// Initializers of the operator, which differ although all its computed inputs agree.
    Initializers(Vec<String>),
    /// Not known, because its inputs were not captured, or not all.
    Unknown,
}

/// Sorts the rows and finds the first operator that diverges.
pub(super) fn finished(mut comparison: Comparison, given: &Given<'_>, options: &CompareOptions) -> Comparison {
    let order = options.graph.as_deref().map(Order::new);
    let moment = |row: &Row| order.as_ref().and_then(|order| order.moment(&row.place));
    // The sort is stable, so rows that the graph does not have keep their order.
    comparison.rows.sort_by_cached_key(|row| (row.place.run, moment(row)));
    let differs = |row: &Row| row.verdict() == Verdict::Different;
    let first = comparison.rows.iter().position(|row| differs(row) && row.place.io != Some(Io::Input));
    let first = first.or_else(|| comparison.rows.iter().position(differs));
    comparison.divergence = first.map(|row| divergence(&comparison.rows, row, given, options));
    comparison.inputs = given.differing(&comparison.rows, options);
    comparison.initializers.clone_from(&options.initializers);
    comparison
}

/// The operators of the graph, by their names and by those of their outputs.
struct Order<'g> {
    graph: &'g Graph,
    operators: HashMap<&'g str, OperatorId>,
    values: HashMap<&'g str, OperatorId>,
}

/// When an operator has been executed, from the outermost graph inwards: for each operator whose body it is in, that operator
/// and the iteration; then the operator itself, which comes after what is in its body.
type Moment = Vec<(OperatorId, u64)>;

impl<'g> Order<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut order = Order { graph, operators: HashMap::new(), values: HashMap::new() };
        for operator in graph.all_operators() {
            order.operators.insert(&operator.name, operator.id);
            for output in operator.outputs.iter().flatten() {
                order.values.insert(&graph.value(*output).name, operator.id);
            }
        }
        order
    }

    fn moment(&self, place: &StoredOrigin) -> Option<Moment> {
        let by_name = place.operator.as_deref().and_then(|name| self.operators.get(name));
        let operator = *by_name.or_else(|| self.values.get(place.value.as_deref()?))?;
        let mut iterations = place.iterations.iter().peekable();
        let level = |owner: OperatorId| {
            let here = iterations.next_if(|iteration| iteration.operator == self.graph.operator(owner).name);
            (owner, here.map_or(0, |iteration| u64::from(iteration.index)))
        };
        let owners: Vec<_> = self.graph.owners_of(operator).into_iter().map(level).collect();
        Some(owners.into_iter().chain([(operator, u64::MAX)]).collect())
    }
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
        // Without the graph, the operator may have inputs that were not captured.
        None if operator.is_none() => Blame::Unknown,
        Some(Verdict::Same) | None => changed().map_or(Blame::Operator, Blame::Initializers),
    };
    Divergence { row, inputs, blame }
}

/// Returns the operator that computes a tensor, by its own name or by that of its value.
fn operator<'g>(place: &StoredOrigin, graph: &'g Graph) -> Option<&'g Operator> {
    let by_name = place.operator.as_deref().and_then(|name| graph.operator_named(name));
    let gives = |operator: &&Operator| {
        operator.outputs.iter().flatten().any(|&value| Some(&graph.value(value).name) == place.value.as_ref())
    };
    by_name.or_else(|| graph.all_operators().find(gives))
}

/// Returns whether a tensor was there when the operator of another place was executed: in the same run, and in the same
/// iteration or around it.
fn was_there(other: &StoredOrigin, place: &StoredOrigin) -> bool {
    let same_run = other.run == place.run || other.run.is_none() || place.run.is_none();
    same_run && other.is_around(place)
}

/// Returns the inputs of a row's operator that were captured.
fn captured_inputs(rows: &[Row], row: usize) -> Vec<InputRow> {
    let place = &rows[row].place;
    let captured = |index: &usize| {
        let other = &rows[*index].place;
        let same_operator = other.operator.is_some() && other.operator == place.operator;
        was_there(other, place) && other.io == Some(Io::Input) && same_operator
    };
    let of_row = |index: usize| InputRow {
        slot: rows[index].place.slot.unwrap_or(0),
        value: rows[index].place.label(),
        row: Some(index),
        given: Verdict::Unknown,
    };
    (0..rows.len()).filter(captured).map(of_row).collect()
}

/// Returns the inputs of a row's operator from the graph, without initializers.
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
                was_there(other, place) && other.value.as_ref() == Some(&value.name)
            };
            // Of an operator's own iteration rather than of one around it, and the first of these.
            let nearest = |index: &usize| Reverse(rows[*index].place.iterations.len());
            let is_given = graph.inputs.contains(&value.id);
            InputRow {
                slot,
                value: value.name.clone(),
                row: (0..rows.len()).filter(of_value).min_by_key(nearest),
                given: if is_given { given(&value.name) } else { Verdict::Unknown },
            }
        })
        .collect()
}
