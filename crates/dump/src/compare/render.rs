use std::fmt;

use opscope_model::LoopIteration;
use opscope_tensor::{DType, Difference};
use opscope_text::Column::{Middles, Numbers, Words};
use opscope_text::{TextTable, cell_text, shown_text};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Blame, Comparison, Divergence, Outcome, Row, Summary, Verdict};
use crate::StoredOrigin;
use crate::table::csv;
use crate::table::number::{finite, short};

/// The order of rows in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// In the order of execution.
    #[default]
    Graph,
    /// The largest error first.
    Error,
}

impl Order {
    /// Both orders.
    pub const ALL: [Order; 2] = [Order::Graph, Order::Error];

    /// `graph` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Order::Graph => "graph",
            Order::Error => "error",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Comparison {
    /// Returns the comparison as text for a terminal: a table of at most `most` rows (those that are not within their
    /// tolerance come first in the choice), what was not compared, and the first operator that diverges.
    pub fn text(&self, order: Order, most: usize) -> String {
        let mut shown: Vec<usize> = (0..self.rows.len()).collect();
        if order == Order::Error {
            shown.sort_by(|&a, &b| severity(&self.rows[b]).total_cmp(&severity(&self.rows[a])));
        } else if shown.len() > most {
            shown.sort_by_key(|&index| self.rows[index].is_within());
        }
        let left_out = shown.len().saturating_sub(most);
        shown.truncate(most);
        if order == Order::Graph {
            shown.sort_unstable();
        }
        let mut columns = vec![Words(""), Middles("tensor"), Middles("operator"), Middles("type")];
        columns.extend(["cosine", "max abs", "max rel", "mean rel", "rmse", "ulp"].map(Numbers));
        let is_finite = |row: &Row| row.difference().is_none_or(|d| d.nan == [0, 0] && d.infinite == [0, 0]);
        let all_finite = shown.iter().all(|&index| is_finite(&self.rows[index]));
        if !all_finite {
            columns.extend(["nan", "inf"].map(Numbers));
        }
        let spare = &["mean rel", "operator", "rmse", "type", "max rel"];
        let mut table = TextTable::new(columns).without_rule().with_spare(spare);
        shown.iter().for_each(|&index| table.row(line(&self.rows[index], !all_finite)));
        let mut text = table.text();
        if !all_finite {
            text += "nan and inf: elements of the tensor / of the reference\n";
        }
        if left_out > 0 {
            text += &format!("... and {left_out} rows more\n");
        }
        for (places, side) in [(&self.only_in_tensors, &self.tensors), (&self.only_in_reference, &self.reference)] {
            if let Some(first) = places.first() {
                let (side, first) = (shown_text(side), first.label());
                text += &format!("{} only in {side}, the first is {}\n", tensors(places.len()), shown_text(&first));
            }
        }
        if !self.only_in_tensors.is_empty() && !self.only_in_reference.is_empty() {
            text += "these were not matched; if they were renamed, --match position or --mapping says what belongs together\n";
        }
        if let Some(first) = self.fused.first() {
            let (fused, first) = (tensors(self.fused.len()), first.label());
            text += &format!(
                "{fused} only on one side, because the other one's plan is fused; the first is {}\n",
                shown_text(&first)
            );
        }
        if self.rows.iter().any(|row| matches!(row.outcome, Outcome::Summarised(_))) {
            text += "where one side has only statistics: the same hash shows that all elements are the same; statistics that \
                     agree do not\n";
        }
        for problem in &self.problems {
            text += &format!("problem: {}\n", shown_text(problem));
        }
        if !self.inputs.is_empty() {
            text += &format!("the two sides were given different inputs: {}\n", shown_text(&self.inputs.join(", ")));
        }
        let within = self.rows.iter().filter(|row| row.is_within()).count();
        let unknown = self.rows.iter().filter(|row| row.verdict() == Verdict::Unknown).count();
        let unknown = if unknown > 0 { format!(", {unknown} cannot be told") } else { String::new() };
        text += &format!("{} compared, {within} within tolerance{unknown}\n", tensors(self.rows.len()));
        if let Some(divergence) = &self.divergence {
            text += &self.divergence_text(divergence);
        }
        text
    }

    fn divergence_text(&self, divergence: &Divergence) -> String {
        let row = &self.rows[divergence.row];
        let operator = match (row.place.operator_label(), &row.place.op_type) {
            (Some(operator), Some(op_type)) => format!("operator '{operator}' ({op_type})"),
            (Some(operator), None) => format!("operator '{operator}'"),
            _ => format!("tensor '{}'", row.place.label()),
        };
        let mut text = format!("first to diverge: {}, {}\n", shown_text(&operator), shown_text(&outcome(row)));
        for input in &divergence.inputs {
            let compared = match (input.row, input.given) {
                (Some(row), _) => outcome(&self.rows[row]),
                (None, Verdict::Same) => "the same, as it was given to both sides".into(),
                (None, Verdict::Different) => "the two sides were given different data".into(),
                (None, Verdict::Unknown) => "not captured".into(),
            };
            let (value, compared) = (shown_text(&input.value), shown_text(&compared));
            text += &format!("  its input {} '{value}': {compared}\n", input.slot);
        }
        text += &match &divergence.blame {
            Blame::Operator => "  its inputs are right: it is this operator\n".into(),
            Blame::Inputs => "  what it takes was different already\n".into(),
            Blame::Initializers(names) => {
                format!(
                    "  its inputs are right, but initializers that it takes differ: {}\n",
                    shown_text(&names.join(", "))
                )
            }
            Blame::Unknown => {
                "  whether it is this operator cannot be told: its inputs were not all captured\n".to_owned()
            }
        };
        text
    }

    /// Returns the comparison as comma-separated values, one line per pair.
    pub fn csv(&self) -> String {
        let joined = |dims: &[usize]| dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let text = |text: &str| cell_text(text).into_owned();
        csv::text(self.rows.iter().map(|row| Record::of(row, text, joined, LoopIteration::indices)))
    }

    /// Returns the comparison as JSON.
    pub fn json(&self) -> Value {
        let labels = |places: &[StoredOrigin]| places.iter().map(StoredOrigin::label).collect::<Vec<_>>();
        let divergence = self.divergence.as_ref().map(|divergence| {
            let input = |input: &super::InputRow| {
                let given = match input.given {
                    Verdict::Same => Some(true),
                    Verdict::Different => Some(false),
                    Verdict::Unknown => None,
                };
                json!({ "slot": input.slot, "value": input.value, "row": input.row, "given": given })
            };
            json!({
                "row": divergence.row,
                "operator": self.rows[divergence.row].place.operator,
                "iterations": self.rows[divergence.row].place.iterations,
                "inputs": divergence.inputs.iter().map(input).collect::<Vec<_>>(),
                "blame": match divergence.blame {
                    Blame::Operator => "operator",
                    Blame::Inputs => "inputs",
                    Blame::Initializers(_) => "initializers",
                    Blame::Unknown => "unknown",
                },
            })
        });
        json!({
            "schema": "opscope.comparison/1",
            "tensors": self.tensors,
            "reference": self.reference,
            "verdict": match self.verdict() {
                Verdict::Same => "same",
                Verdict::Unknown => "unknown",
                Verdict::Different => "different",
            },
            "same": self.is_same(),
            "complete": self.is_complete(),
            "first_divergence": divergence,
            "rows": self.rows.iter().map(|row| Record::of(row, str::to_owned, <[usize]>::to_vec, <[_]>::to_vec)).collect::<Vec<_>>(),
            "only_in_tensors": labels(&self.only_in_tensors),
            "only_in_reference": labels(&self.only_in_reference),
            "fused": labels(&self.fused),
            "initializers": self.initializers,
            "inputs": self.inputs,
            "problems": self.problems,
        })
    }
}

/// A row in CSV and JSON. Numbers that are not finite are missing.
#[derive(Serialize)]
struct Record<Shape, Iterations> {
    run: Option<u64>,
    operator: Option<String>,
    op_type: Option<String>,
    io: Option<&'static str>,
    slot: Option<usize>,
    value: Option<String>,
    reference: String,
    matched_by: &'static str,
    dtype: Option<&'static str>,
    reference_dtype: Option<&'static str>,
    shape: Shape,
    reference_shape: Shape,
    outcome: &'static str,
    within: bool,
    cosine: Option<f64>,
    max_absolute: Option<f64>,
    max_relative: Option<f64>,
    mean_relative: Option<f64>,
    rmse: Option<f64>,
    max_ulp: Option<u64>,
    nan: Option<u64>,
    reference_nan: Option<u64>,
    infinite: Option<u64>,
    reference_infinite: Option<u64>,
    nan_mismatches: Option<u64>,
    infinite_mismatches: Option<u64>,
    count: Option<u64>,
    equal: Option<u64>,
    iterations: Iterations,
}

impl<Shape, Iterations> Record<Shape, Iterations> {
    /// Creates the record of a row. `text`, `shape` and `iterations` convert these to their form in the file.
    fn of(
        row: &Row,
        text: fn(&str) -> String,
        shape: fn(&[usize]) -> Shape,
        iterations: fn(&[LoopIteration]) -> Iterations,
    ) -> Self {
        let difference = row.difference();
        let number = |of: fn(&Difference) -> f64| difference.map(of).and_then(finite);
        let (outcome, _) = outcome_name(row);
        Self {
            run: row.place.run,
            operator: row.place.operator.as_deref().map(text),
            op_type: row.place.op_type.as_deref().map(text),
            io: row.place.io.map(crate::Io::name),
            slot: row.place.slot,
            value: row.place.value.as_deref().map(text),
            reference: text(&row.reference.label()),
            matched_by: row.matched_by.name(),
            dtype: row.dtypes.0.map(DType::name),
            reference_dtype: row.dtypes.1.map(DType::name),
            shape: shape(&row.shapes.0),
            reference_shape: shape(&row.shapes.1),
            outcome,
            within: row.is_within(),
            cosine: difference.and_then(|difference| difference.cosine),
            max_absolute: number(|d| d.max_absolute),
            max_relative: number(|d| d.max_relative),
            mean_relative: number(|d| d.mean_relative),
            rmse: number(|d| d.rmse),
            max_ulp: difference.and_then(|difference| difference.max_ulp),
            nan: difference.map(|d| d.nan[0]),
            reference_nan: difference.map(|d| d.nan[1]),
            infinite: difference.map(|d| d.infinite[0]),
            reference_infinite: difference.map(|d| d.infinite[1]),
            nan_mismatches: difference.map(|d| d.nan_mismatches),
            infinite_mismatches: difference.map(|d| d.infinite_mismatches),
            count: difference.map(|d| d.count),
            equal: difference.map(|d| d.equal),
            iterations: iterations(&row.place.iterations),
        }
    }
}

fn line(row: &Row, with_non_finite: bool) -> Vec<String> {
    let mark = match row.verdict() {
        Verdict::Same => "",
        Verdict::Unknown => "?",
        Verdict::Different => "!",
    };
    let place = &row.place;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line = vec![mark.into(), place.label(), text(&place.operator), text(&place.op_type)];
    match row.difference() {
        Some(d) => {
            line.extend(numbers(d));
            if with_non_finite {
                line.extend([d.nan, d.infinite].map(|[tensor, reference]| format!("{tensor}/{reference}")));
            }
        }
        None => line.push(outcome(row)),
    }
    line
}

/// Returns the numbers of a row. If the two are infinitely far apart, or one has a NaN where the other has none, the
/// other numbers are left empty.
fn numbers(d: &Difference) -> Vec<String> {
    if d.mismatches() > 0 {
        let apart = if d.nan_mismatches > 0 { "NaN" } else { "inf" };
        return ["-", apart, "-", "-", "-", "-"].map(str::to_owned).to_vec();
    }
    let mut numbers = vec![d.cosine.map_or("-".into(), |cosine| format!("{cosine:.6}"))];
    numbers.extend([d.max_absolute, d.max_relative, d.mean_relative, d.rmse].map(short));
    numbers.push(d.max_ulp.map_or("-".into(), |ulp| ulp.to_string()));
    numbers
}

/// Returns the outcome of a row as a sentence.
fn outcome(row: &Row) -> String {
    let (_, text) = outcome_name(row);
    text
}

fn outcome_name(row: &Row) -> (&'static str, String) {
    match &row.outcome {
        Outcome::Compared { difference, within } => {
            let apart = format!("{} apart at most", short(difference.max_absolute));
            let text = match (difference.mismatches(), difference.max_absolute) {
                (0, 0.0) => "the same".into(),
                (0, _) => apart,
                (mismatches, most) => {
                    let rest = if most == 0.0 { "the rest is the same".into() } else { format!("the rest is {apart}") };
                    format!("{mismatches} elements NaN or infinite on one side only, {rest}")
                }
            };
            (if *within { "within" } else { "different" }, text)
        }
        Outcome::Shapes => ("shapes", format!("shape {:?} instead of {:?}", row.shapes.0, row.shapes.1)),
        Outcome::Summarised(Summary::Same) => ("same_hash", "the same hash".into()),
        Outcome::Summarised(Summary::Alike) => ("alike", "statistics agree, data is not the same".into()),
        Outcome::Summarised(Summary::Different) => ("statistics_differ", "statistics differ".into()),
        Outcome::Unreadable(reason) => ("unreadable", reason.clone()),
    }
}

/// Returns how bad a row is. Rows that cannot be compared are the worst. Then come those with NaN on one side only,
/// then the others by the largest error relative to the reference's largest element.
fn severity(row: &Row) -> f64 {
    match row.difference() {
        None if row.is_within() => 0.0,
        None => f64::INFINITY,
        Some(d) if d.mismatches() > 0 => f64::MAX,
        Some(d) => d.max_absolute / d.max_reference.max(f64::MIN_POSITIVE),
    }
}

fn tensors(count: usize) -> String {
    if count == 1 { "1 tensor".into() } else { format!("{count} tensors") }
}
