mod behind;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;

use opscope_onnx::{CodeOrigin, Graph, Operator, OperatorId, Producer};

use self::behind::Behind;
use super::model_inputs::ModelInputs;
use super::rounding::only_moves;
use super::{CompareOptions, Comparison, MatchedBy, Row, SqnrDrop, Verdict};
use crate::{Io, Positions, StoredOrigin};

/// The first operator whose output differs from the reference.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// The row in [`Comparison::rows`] of the tensor that differs.
    pub row: usize,
    /// How that tensor differs. With several sets of inputs, this belongs to the set in which the first operator
    /// diverges. The row may belong to another set, in which the tensor differs more.
    pub tensor: Row,
    /// The operator.
    pub operator: Option<Diverging>,
    /// The operator's position in the program that the model was exported from, if the model or the dump has it.
    pub origin: Option<CodeOrigin>,
    /// Operators between it and these inputs, whose own values only one side has: it may be one of them.
    pub between: Vec<String>,
    /// Its inputs, by slot, or those of the operators between.
    pub inputs: Vec<InputRow>,
    /// The source of the error.
    pub blame: Blame,
    pub(super) moment: Option<Moment>,
}

/// An operator that diverges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diverging {
    /// Its name.
    pub name: String,
    /// Its type.
    pub op_type: Option<String>,
    /// Whether the tensor that differs is not its own, but a later one that the operators in between only moved.
    pub is_before: bool,
}

/// An input of an operator.
#[derive(Debug, Clone)]
pub struct InputRow {
    /// The slot.
    pub slot: usize,
    /// The value's name.
    pub value: String,
    /// The row that compares it, or `None` if it was not captured.
    pub row: Option<usize>,
    /// How it differs, in the same set of inputs as the operator's output.
    pub compared: Option<Row>,
    /// For an input of the model: whether it was the same on both sides, if that is known.
    pub given: Verdict,
}

/// The source of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blame {
    /// The operator itself: all its inputs agree with the reference.
    Operator,
    /// Earlier operators: an input already differs.
    Inputs,
    /// These initializers of the operator, which differ although all its computed inputs agree.
    Initializers(Vec<String>),
    /// The operator or its inputs. These are within their tolerances, but differ so much that they may explain the
    /// output's difference.
    Either,
    /// Not known, because not all of its inputs were captured.
    Unknown,
}

/// How much an operator may amplify the differences of its inputs, each relative to its largest element. Sums that
/// nearly cancel amplify them by more than this. A broken operator makes at least 100 times as much of the rounding of
/// single precision.
const GAIN: f64 = 16.0;

/// Sorts the rows of a comparison and finds the first operator that diverges.
pub(super) fn finished(mut comparison: Comparison, given: &ModelInputs<'_>, options: &CompareOptions) -> Comparison {
    let order = options.graph.as_deref().map(Order::new);
    let moment = |row: &Row| order.as_ref().and_then(|order| order.moment(&row.place));
    let positions = Positions::of(comparison.rows.iter().map(|row| &row.place));
    let mut last: HashMap<Option<u64>, Moment> = HashMap::new();
    let mut key = |row: &Row| {
        let run = row.place.run;
        let moment = match moment(row) {
            Some(known) => {
                last.insert(run, known.clone());
                Some(known)
            }
            // A tensor that only the quantised model computes keeps its place after its predecessor.
            None => last.get(&run).filter(|_| comparison.is_quantised).cloned(),
        };
        // Without the graph, the order of execution comes from the dump.
        // Operators of a program that was watched have their ids in the order in which they were found, which a later
        // step need not follow. The dump has the order of execution itself.
        let is_open = row.place.phase.is_some();
        let place = if order.is_none() && !is_open { positions.place(&row.place) } else { None };
        (run, moment, place)
    };
    let mut rows: Vec<_> = comparison.rows.into_iter().map(|row| (key(&row), row)).collect();
    // The sort is stable, so rows whose time of computation is not known keep their order.
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    comparison.rows = rows.into_iter().map(|(_, row)| row).collect();
    let differs = |row: &Row| row.verdict() == Verdict::Different;
    let first = comparison.rows.iter().position(|row| differs(row) && row.place.io != Some(Io::Input));
    let first = first.or_else(|| comparison.rows.iter().position(differs));
    if comparison.is_quantised {
        comparison.set_drops(options);
    }
    comparison.divergence = first.map(|row| Divergence {
        moment: moment(&comparison.rows[row]),
        ..divergence(&comparison, row, given, options)
    });
    comparison.inputs = given.differing(&comparison.rows, options);
    comparison.initializers.clone_from(&options.initializers);
    comparison
}

/// Sorts rows in the order of the graph.
pub(super) fn sort(rows: &mut [Row], graph: Option<&Graph>) {
    let order = graph.map(Order::new);
    rows.sort_by_cached_key(|row| order.as_ref().and_then(|order| order.moment(&row.place)));
}

/// The operators of a graph, by their names and by those of their outputs.
struct Order<'g> {
    graph: &'g Graph,
    operators: HashMap<&'g str, OperatorId>,
    values: HashMap<&'g str, OperatorId>,
}

/// The position of an operator in the order of execution, from the outermost graph inwards: each operator around it
/// with the iteration of its body, then the operator itself, which comes after everything in its own body.
pub(super) type Moment = Vec<(OperatorId, u64)>;

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

fn divergence(comparison: &Comparison, row: usize, given: &ModelInputs<'_>, options: &CompareOptions) -> Divergence {
    let rows = comparison.rows.as_slice();
    let is_export = rows[row].matched_by == MatchedBy::Export;
    let graph = options.graph.as_deref();
    let found = graph.and_then(|graph| Some((graph, operator(&rows[row].place, graph)?)));
    let given = |name: &str| given.verdict(&rows[row], name, options);
    let own = found.map(|(_, operator)| operator.id);
    let found = found.map(|(graph, operator)| match is_export {
        true => (graph, operator),
        false => (graph, computing(rows, row, graph, operator, &given)),
    });
    let only = |inputs: Vec<InputRow>| Behind { inputs, ..Behind::default() };
    let Behind { inputs, between, initializers } = match found {
        Some((graph, operator)) if is_export => behind::of_graph(rows, row, graph, operator, &given),
        Some((graph, operator)) => only(computed_inputs(rows, row, graph, operator, &given)),
        None if rows[row].place.inputs.is_empty() => only(captured_inputs(rows, row)),
        None => {
            let direct = named_inputs(rows, row, &given);
            behind::of_program(rows, row, &comparison.only_in_tensors, direct, &given)
        }
    };
    let verdicts = inputs.iter().map(|input| input.compared.as_ref().map_or(input.given, Row::verdict));
    let changed = || {
        let (graph, operator) = found?;
        let names = operator.inputs.iter().flatten().map(|&value| &graph.value(value).name);
        let names = names.chain(&initializers);
        let mut changed: Vec<String> = names.filter(|name| options.initializers.contains(name)).cloned().collect();
        changed.dedup();
        (!changed.is_empty()).then_some(changed)
    };
    let blame = match (verdicts.max(), rows[row].drop) {
        (_, Some(drop)) if drop.decibels() >= SqnrDrop::LARGE => Blame::Operator,
        (_, Some(_)) | (Some(Verdict::Different), _) => Blame::Inputs,
        (Some(Verdict::Unknown), _) => Blame::Unknown,
        // Without the graph, the operator may have inputs that were not captured.
        (None, _) if found.is_none() && rows[row].place.inputs.is_empty() => Blame::Unknown,
        (Some(Verdict::Same) | None, _) => match changed() {
            Some(initializers) => Blame::Initializers(initializers),
            None if inputs.iter().any(|input| may_explain(input, &rows[row])) => Blame::Either,
            None => Blame::Operator,
        },
    };
    let place = &rows[row].place;
    let operator = match found {
        Some((_, operator)) if own != Some(operator.id) => {
            Some(Diverging { name: operator.name.clone(), op_type: Some(operator.op_type.clone()), is_before: true })
        }
        _ => place.operator_label().map(|name| Diverging { name, op_type: place.op_type.clone(), is_before: false }),
    };
    let origin = match found {
        Some((_, operator)) => operator.origin.clone(),
        None => place.code.as_deref().cloned(),
    };
    Divergence { row, tensor: rows[row].clone(), operator, origin, between, inputs, blame, moment: None }
}

/// Returns the operator that caused a difference. This is the given one, unless it only moves values and its inputs are
/// not identical on both sides. In that case the search continues along the worst input, to the first operator that
/// computes, or that moves values but whose output its inputs do not explain.
fn computing<'g>(
    rows: &[Row],
    row: usize,
    graph: &'g Graph,
    operator: &'g Operator,
    given: &impl Fn(&str) -> Verdict,
) -> &'g Operator {
    let mut operator = operator;
    let mut output = Some(rows[row].clone());
    while only_moves(graph, operator) {
        let inputs = computed_inputs(rows, row, graph, operator, given);
        if output.is_some_and(|output| !is_explained(&output, operator, &inputs)) {
            break;
        }
        let worst = inputs
            .iter()
            .filter(|input| !is_same(input))
            .max_by_key(|input| (input.compared.as_ref().map(Row::verdict), Reverse(input.slot)));
        let value = worst.and_then(|input| operator.inputs[input.slot]);
        match value.map(|value| graph.value(value).producer) {
            Some(Producer::Operator(before, _)) => operator = graph.operator(before),
            _ => break,
        }
        output = worst.and_then(|input| input.compared.clone());
    }
    operator
}

/// Returns whether the difference of an input may explain that of an output.
fn may_explain(input: &InputRow, output: &Row) -> bool {
    let Some((input, output)) = input.compared.as_ref().and_then(|row| row.difference().zip(output.difference()))
    else {
        return false;
    };
    let relative = |absolute: f64, largest: f64| if largest > 0.0 { absolute / largest } else { absolute };
    let [brought, given] =
        [input, output].map(|difference| relative(difference.max_absolute, difference.max_reference));
    output.mismatches() == 0 && (input.max_absolute >= output.max_absolute || brought * GAIN >= given)
}

/// Returns whether an input is known to be identical on both sides.
fn is_same(input: &InputRow) -> bool {
    match &input.compared {
        Some(row) => row.difference().is_some_and(|difference| difference.equal == difference.count),
        None => input.given == Verdict::Same,
    }
}

/// Returns whether the inputs of an operator that only moves values explain the difference of its output. Each element
/// of the output is one of an input, so none is further off than the worst of these.
fn is_explained(output: &Row, operator: &Operator, inputs: &[InputRow]) -> bool {
    let changed = || inputs.iter().filter(|input| !is_same(input));
    let is_moved = |input: &InputRow| match operator.op_type.as_str() {
        "Concat" => true,
        "ScatterElements" | "ScatterND" | "Pad" => input.slot == 0 || input.slot == 2,
        _ => input.slot == 0,
    };
    // A different position, such as an index, explains any difference, and so does an input that was not compared by
    // its numbers.
    if changed().any(|input| !is_moved(input) || input.compared.as_ref().is_none_or(|row| row.difference().is_none())) {
        return true;
    }
    let Some(difference) = output.difference() else { return changed().next().is_some() };
    let moved = || changed().filter_map(|input| input.compared.as_ref());
    let most = moved().filter_map(Row::difference).fold(0.0, |most: f64, input| most.max(input.max_absolute));
    // Tensors of two types are rounded to one of them before they are compared, which may be another type for the
    // inputs than for the output.
    let is_rounded = moved().chain([output]).any(|row| row.dtypes.0 != row.dtypes.1);
    let rounding = difference.max_reference * if is_rounded { 0.01 } else { 1e-6 };
    let has_mismatches = moved().filter_map(Row::difference).any(|input| input.mismatches() > 0);
    difference.max_absolute <= most + rounding && (difference.mismatches() == 0 || has_mismatches)
}

/// Returns the operator that computes a tensor, found by its name or by that of the value.
fn operator<'g>(place: &StoredOrigin, graph: &'g Graph) -> Option<&'g Operator> {
    let by_name = place.operator.as_deref().and_then(|name| graph.operator_named(name));
    let gives = |operator: &&Operator| {
        operator.outputs.iter().flatten().any(|&value| Some(&graph.value(value).name) == place.value.as_ref())
    };
    by_name.or_else(|| graph.all_operators().find(gives))
}

/// Returns whether a tensor existed when the operator of another tensor was executed: it is of the same run, and of the
/// same iteration or an enclosing one.
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
        compared: Some(rows[index].clone()),
        given: Verdict::Unknown,
    };
    (0..rows.len()).filter(captured).map(of_row).collect()
}

/// Returns the inputs of a row's operator by their names in the dump. For a value that was written several times, this
/// is its last state before the operator.
fn named_inputs(rows: &[Row], row: usize, given: &impl Fn(&str) -> Verdict) -> Vec<InputRow> {
    let place = &rows[row].place;
    let named = place.inputs.iter().enumerate();
    named
        .map(|(slot, name)| {
            let of_value = |index: &usize| {
                let other = &rows[*index].place;
                was_there(other, place) && other.io != Some(Io::Input) && other.value.is_some() && other.value == *name
            };
            let found = (0..row).rev().find(of_value);
            InputRow {
                slot,
                value: name.clone().unwrap_or_else(|| "?".to_owned()),
                row: found,
                compared: found.map(|row| rows[row].clone()),
                given: name.as_deref().map_or(Verdict::Unknown, given),
            }
        })
        .collect()
}

/// Returns the inputs of a row's operator from the graph, without initializers.
fn computed_inputs(
    rows: &[Row],
    row: usize,
    graph: &Graph,
    operator: &Operator,
    given: &impl Fn(&str) -> Verdict,
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
            // Prefers a tensor of the operator's own iteration to one of an enclosing iteration, and the first of
            // these.
            let nearest = |index: &usize| Reverse(rows[*index].place.iterations.len());
            let is_given = graph.inputs.contains(&value.id);
            let found = (0..rows.len()).filter(of_value).min_by_key(nearest);
            InputRow {
                slot,
                value: value.name.clone(),
                row: found,
                compared: found.map(|row| rows[row].clone()),
                given: if is_given { given(&value.name) } else { Verdict::Unknown },
            }
        })
        .collect()
}
