use serde_json::{Value, json};

use super::{Blame, Comparison, Divergence, MatchedBy, Outcome, Row};
use crate::Place;
use crate::layout::{columns, finite, short};
use crate::table::cell;

/// The order of rows in a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// As the graph executes.
    #[default]
    Graph,
    /// The worst first.
    Error,
}

impl Comparison {
    /// The comparison to be read in a terminal: a table of at most `most` rows (what is not within its tolerance
    /// first to be kept), what was not compared, and the first operator that diverges.
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
        let head = ["", "tensor", "operator", "type", "cosine", "max abs", "max rel", "mean rel", "rmse", "ulp"];
        let lines = shown.iter().map(|&index| line(&self.rows[index])).collect();
        let mut text = columns(head.map(str::to_owned).to_vec(), lines);
        if left_out > 0 {
            text += &format!("... and {left_out} rows more\n");
        }
        for (places, side) in [(&self.only_in_tensors, &self.tensors), (&self.only_in_reference, &self.reference)] {
            if let Some(first) = places.first() {
                text += &format!("{} only in {side}, the first is {}\n", tensors(places.len()), first.label());
            }
        }
        for problem in &self.problems {
            text += &format!("problem: {problem}\n");
        }
        let within = self.rows.iter().filter(|row| row.is_within()).count();
        text += &format!("{} compared, {within} within tolerance\n", tensors(self.rows.len()));
        if let Some(divergence) = &self.divergence {
            text += &self.divergence_text(divergence);
        }
        text
    }

    fn divergence_text(&self, divergence: &Divergence) -> String {
        let row = &self.rows[divergence.row];
        let operator = match (&row.place.operator, &row.place.op_type) {
            (Some(operator), Some(op_type)) => format!("operator '{operator}' ({op_type})"),
            (Some(operator), None) => format!("operator '{operator}'"),
            _ => format!("tensor '{}'", row.place.label()),
        };
        let mut text = format!("first to diverge: {operator}, {}\n", outcome(row));
        for input in &divergence.inputs {
            let compared = input.row.map_or("not captured".into(), |row| outcome(&self.rows[row]));
            text += &format!("  its input {} '{}': {compared}\n", input.slot, input.value);
        }
        text += match divergence.blame {
            Blame::Operator => "  its inputs are right: it is this operator\n",
            Blame::Inputs => "  what it takes was different already\n",
            Blame::Unknown => "  whether it is this operator cannot be told: its inputs were not all captured\n",
        };
        text
    }

    /// The comparison as comma-separated values: a line per pair.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "run,operator,op_type,io,slot,value,reference,matched_by,dtype,reference_dtype,shape,reference_shape,outcome,\
             within,cosine,max_absolute,max_relative,mean_relative,rmse,max_ulp,nan_mismatches,infinite_mismatches,count,equal\n",
        );
        for row in &self.rows {
            let record = record(row);
            let field = |value: &Value| match value {
                Value::Null => String::new(),
                Value::String(text) => cell(text),
                Value::Array(dims) => dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("x"),
                other => other.to_string(),
            };
            let fields: Vec<String> = record.as_object().into_iter().flat_map(|map| map.values()).map(field).collect();
            text += &(fields.join(",") + "\n");
        }
        text
    }

    /// The comparison for machines.
    pub fn json(&self) -> Value {
        let labels = |places: &[Place]| places.iter().map(Place::label).collect::<Vec<_>>();
        let divergence = self.divergence.as_ref().map(|divergence| {
            let input = |input: &super::InputRow| json!({ "slot": input.slot, "value": input.value, "row": input.row });
            json!({
                "row": divergence.row,
                "operator": self.rows[divergence.row].place.operator,
                "inputs": divergence.inputs.iter().map(input).collect::<Vec<_>>(),
                "blame": match divergence.blame {
                    Blame::Operator => "operator",
                    Blame::Inputs => "inputs",
                    Blame::Unknown => "unknown",
                },
            })
        });
        json!({
            "schema": "opscope.comparison/1",
            "tensors": self.tensors,
            "reference": self.reference,
            "same": self.is_same(),
            "complete": self.is_complete(),
            "first_divergence": divergence,
            "rows": self.rows.iter().map(record).collect::<Vec<_>>(),
            "only_in_tensors": labels(&self.only_in_tensors),
            "only_in_reference": labels(&self.only_in_reference),
            "problems": self.problems,
        })
    }
}

/// A row with the names of CSV and JSON, in the order of the columns. Numbers that are not finite are null.
fn record(row: &Row) -> Value {
    let difference = row.difference();
    let number = |of: fn(&opscope_tensor::Difference) -> f64| difference.map(of).and_then(finite);
    let (outcome, _) = outcome_name(row);
    json!({
        "run": row.place.run,
        "operator": row.place.operator,
        "op_type": row.place.op_type,
        "io": row.place.io.map(crate::Io::name),
        "slot": row.place.slot,
        "value": row.place.value,
        "reference": row.reference.label(),
        "matched_by": match row.matched_by {
            MatchedBy::Mapping => "mapping",
            MatchedBy::Value => "value",
            MatchedBy::Operator => "operator",
            MatchedBy::Spelling => "spelling",
        },
        "dtype": row.dtypes.0.map(opscope_tensor::DType::name),
        "reference_dtype": row.dtypes.1.map(opscope_tensor::DType::name),
        "shape": row.shapes.0,
        "reference_shape": row.shapes.1,
        "outcome": outcome,
        "within": row.is_within(),
        "cosine": difference.and_then(|difference| difference.cosine),
        "max_absolute": number(|d| d.max_absolute),
        "max_relative": number(|d| d.max_relative),
        "mean_relative": number(|d| d.mean_relative),
        "rmse": number(|d| d.rmse),
        "max_ulp": difference.and_then(|difference| difference.max_ulp),
        "nan_mismatches": difference.map(|d| d.nan_mismatches),
        "infinite_mismatches": difference.map(|d| d.infinite_mismatches),
        "count": difference.map(|d| d.count),
        "equal": difference.map(|d| d.equal),
    })
}

fn line(row: &Row) -> Vec<String> {
    let mark = if row.is_within() { "" } else { "!" };
    let place = &row.place;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line = vec![mark.into(), place.label(), text(&place.operator), text(&place.op_type)];
    match row.difference() {
        Some(d) => {
            line.push(d.cosine.map_or("-".into(), |cosine| format!("{cosine:.6}")));
            line.extend([d.max_absolute, d.max_relative, d.mean_relative, d.rmse].map(short));
            line.push(d.max_ulp.map_or("-".into(), |ulp| ulp.to_string()));
        }
        None => line.push(outcome(row)),
    }
    line
}

/// A sentence about a row.
fn outcome(row: &Row) -> String {
    let (_, text) = outcome_name(row);
    text
}

fn outcome_name(row: &Row) -> (&'static str, String) {
    match &row.outcome {
        Outcome::Compared { difference, within } => {
            let mut text = format!("{} apart at most", short(difference.max_absolute));
            if difference.max_absolute == 0.0 {
                text = "the same".into();
            }
            let mismatches = difference.nan_mismatches + difference.infinite_mismatches;
            if mismatches > 0 {
                text += &format!(", {mismatches} elements NaN or infinite on one side only");
            }
            (if *within { "within" } else { "different" }, text)
        }
        Outcome::Shapes => ("shapes", format!("shape {:?} instead of {:?}", row.shapes.0, row.shapes.1)),
        Outcome::Unreadable(reason) => ("unreadable", reason.clone()),
    }
}

/// Rows that cannot be compared are the worst, then those with NaN on one side, then by the largest error relative to
/// the reference's largest element.
fn severity(row: &Row) -> f64 {
    match row.difference() {
        None => f64::INFINITY,
        Some(d) if d.nan_mismatches + d.infinite_mismatches > 0 => f64::MAX,
        Some(d) => d.max_absolute / d.max_reference.max(f64::MIN_POSITIVE),
    }
}

fn tensors(count: usize) -> String {
    if count == 1 { "1 tensor".into() } else { format!("{count} tensors") }
}
