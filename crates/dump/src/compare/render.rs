use std::fmt;
use std::path::PathBuf;

use opscope_model::LoopIteration;
use opscope_tensor::Difference;
use opscope_text::Column::{Middles, Numbers, Words};
use opscope_text::{TextTable, cell_text, counted, shown_text};
use serde_json::{Value, json};

use super::programs::by_module;
use super::row_record::{Record, outcome_name};
use super::{Blame, Comparison, Outcome, Row, SqnrDrop, Verdict};
use crate::StoredOrigin;
use crate::csv;
use crate::number::short;

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
    /// Returns the comparison as text for a terminal of 80 columns: a table of at most `most` rows, preferably those
    /// that are not within their tolerance; the tensors that were not compared; and the first operator that diverges.
    pub fn text(&self, order: Order, most: usize) -> String {
        self.text_within(order, most, 80)
    }

    /// Returns [`text`](Self::text) with tables of another width, in columns.
    pub fn text_within(&self, order: Order, most: usize, width: usize) -> String {
        let mut shown: Vec<usize> = (0..self.rows.len()).collect();
        if order == Order::Error {
            shown.sort_by(|&a, &b| {
                severity(&self.rows[b], self.is_quantised).total_cmp(&severity(&self.rows[a], self.is_quantised))
            });
        } else if shown.len() > most {
            shown.sort_by_key(|&index| self.rows[index].is_within());
        }
        let left_out = shown.len().saturating_sub(most);
        shown.truncate(most);
        if order == Order::Graph {
            shown.sort_unstable();
        }
        let columns = Columns::of(self, &shown);
        let mut table = columns.table().within(width);
        shown.iter().for_each(|&index| table.row(columns.line(self, &self.rows[index])));
        let mut text = table.text();
        if columns.non_finite {
            text += "nan and inf: elements of the tensor / of the reference\n";
        }
        if left_out > 0 {
            text += &format!("... and {} more\n", counted(left_out, "row"));
        }
        if order == Order::Error {
            text += match self.is_quantised {
                true => "sorted by sqnr, the lowest first\n",
                false => "sorted by max abs as a share of the reference's largest element, the largest first\n",
            };
        }
        if self.input_sets.len() > 1 {
            let sets = self.input_sets.len();
            text += &format!("{sets} sets of inputs were run; of each tensor, the worst is shown, with its input\n");
        }
        for (places, side) in [(&self.only_in_tensors, &self.tensors), (&self.only_in_reference, &self.reference)] {
            if let Some(first) = places.first() {
                let side = shown_text(side);
                let what = match by_module(places) {
                    Some(modules) => format!("only in {side}: {}", shown_text(&modules)),
                    None => format!("only in {side}, the first is {}", shown_text(&first.label())),
                };
                text += &format!("{} {what}\n", tensors(places.len()));
            }
        }
        if self.is_selection && !self.only_in_reference.is_empty() {
            let names: Vec<String> = self.only_in_reference.iter().take(NAMED).map(StoredOrigin::label).collect();
            let more = if self.only_in_reference.len() > NAMED { ", ..." } else { "" };
            text += &format!("nothing has the name of: {}{more}\n", shown_text(&names.join(", ")));
        }
        if !self.only_in_tensors.is_empty() && !self.only_in_reference.is_empty() {
            text += match by_module(&self.only_in_tensors) {
                Some(_) => "these were not matched; if modules were renamed, --map says what they are called\n",
                None => {
                    "these were not matched; if they were renamed, --match position or --mapping says what belongs together\n"
                }
            };
        }
        if let Some(first) = self.fused.first() {
            let (fused, first) = (tensors(self.fused.len()), first.label());
            text += &format!(
                "{fused} only on one side, because the other one's plan is fused; the first is {}\n",
                shown_text(&first)
            );
        }
        for (places, side) in [(&self.only_in_export, "export"), (&self.only_in_program, "program")] {
            if let Some(first) = places.first() {
                let what = by_module(places).unwrap_or_else(|| format!("the first is {}", first.label()));
                let what = shown_text(&what);
                text += &format!("{} only in the {side}, within what was compared: {what}\n", tensors(places.len()));
            }
        }
        if let Some(first) = self.quantised_only.first() {
            let (only, first) = (tensors(self.quantised_only.len()), first.label());
            text += &format!(
                "{only} only on one side, because one of them is quantised; the first is {}\n",
                shown_text(&first)
            );
        }
        if self.rows.iter().any(|row| matches!(row.outcome, Outcome::Summarised(_))) {
            text += "where one side has only statistics: the same hash shows that all elements are the same; statistics that \
                     agree do not\n";
        }
        for note in &self.notes {
            text += &format!("note: {}\n", shown_text(note));
        }
        for problem in &self.problems {
            text += &format!("problem: {}\n", shown_text(problem));
        }
        if !self.inputs.is_empty() {
            let more = self.inputs.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names = self.inputs[..self.inputs.len().min(NAMED)].join(", ");
            text += &format!("the two sides were given different inputs: {}{more}\n", shown_text(&names));
        }
        let within = self.rows.iter().filter(|row| row.is_within()).count();
        let unknown = self.rows.iter().filter(|row| row.verdict() == Verdict::Unknown).count();
        let unknown = if unknown > 0 { format!(", {unknown} cannot be told") } else { String::new() };
        text += &format!("{} compared, {within} within tolerance{unknown}\n", tensors(self.rows.len()));
        let place = |row: &Row| {
            let place = row.place.operator_label().unwrap_or_else(|| row.place.label());
            shown_text(&place).into_owned()
        };
        if let Some((row, sqnr)) = self.first_noise() {
            text += &format!("the first noise is at {}: {sqnr:.1} dB\n", place(row));
        }
        match self.largest_drop() {
            Some((row, drop)) if drop.decibels() >= SqnrDrop::LARGE => {
                text += &format!("the largest drop is at {}: {:.1} to {:.1} dB\n", place(row), drop.from, drop.to);
            }
            Some(_) => text += &format!("no operator stands out: no drop is {} dB or more\n", SqnrDrop::LARGE),
            None => {}
        }
        if let Some(divergence) = &self.divergence {
            text += &self.divergence_text(divergence);
        }
        text
    }

    /// Returns the names of the input files of a row's run, separated by spaces.
    pub(super) fn files_of(&self, row: &Row) -> Option<String> {
        let set = self.input_sets.get(usize::try_from(row.place.run?).ok()?)?;
        let names = set.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy()));
        let names = names.collect::<Vec<_>>().join(" ");
        (!names.is_empty()).then_some(names)
    }

    /// Returns the outcome of a row as a sentence.
    pub(super) fn outcome(&self, row: &Row) -> String {
        let (_, text) = outcome_name(row);
        match row.difference().and_then(|difference| difference.sqnr).filter(|sqnr| sqnr.is_finite()) {
            Some(sqnr) if self.is_quantised => format!("{text} (sqnr {sqnr:.1} dB)"),
            _ => text,
        }
    }

    /// Returns the comparison as comma-separated values, one line per pair.
    pub fn csv(&self) -> String {
        let joined = |dims: &[usize]| dims.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let text = |text: &str| cell_text(text).into_owned();
        csv::text(self.rows.iter().map(|row| Record::of(row, self, text, joined, LoopIteration::indices)))
    }

    /// Returns the comparison as JSON.
    pub fn json(&self) -> Value {
        let labels = |places: &[StoredOrigin]| places.iter().map(StoredOrigin::label).collect::<Vec<_>>();
        let shown =
            |files: &[PathBuf]| files.iter().map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>();
        let divergence = self.divergence.as_ref().map(|divergence| {
            let input = |input: &super::InputRow| {
                let given = match input.given {
                    Verdict::Same => Some(true),
                    Verdict::Different => Some(false),
                    Verdict::Unknown => None,
                };
                json!({ "slot": input.slot, "value": input.value, "row": input.row, "given": given })
            };
            let mut document = json!({
                "row": divergence.row,
                "operator": match &divergence.operator {
                    Some(operator) if operator.is_before => Some(&operator.name),
                    _ => divergence.tensor.place.operator.as_ref(),
                },
                "seen_in": divergence.tensor.place.label(),
                "run": divergence.tensor.place.run,
                "iterations": divergence.tensor.place.iterations,
                "between": divergence.between,
                "inputs": divergence.inputs.iter().map(input).collect::<Vec<_>>(),
                "blame": match divergence.blame {
                    Blame::Operator => "operator",
                    Blame::Inputs => "inputs",
                    Blame::Either => "either",
                    Blame::Initializers(_) => "initializers",
                    Blame::Unknown => "unknown",
                },
            });
            if let Some(origin) = &divergence.origin {
                document["origin"] = json!(origin);
            }
            if let Some(phase) = &divergence.tensor.place.phase {
                document["phase"] = json!(phase);
            }
            document
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
            "rows": self.rows.iter().map(|row| Record::of(row, self, str::to_owned, <[usize]>::to_vec, <[_]>::to_vec)).collect::<Vec<_>>(),
            "only_in_tensors": labels(&self.only_in_tensors),
            "only_in_reference": labels(&self.only_in_reference),
            "fused": labels(&self.fused),
            "only_in_export": labels(&self.only_in_export),
            "only_in_program": labels(&self.only_in_program),
            "quantised": self.is_quantised,
            "quantised_only": labels(&self.quantised_only),
            "first_noise": self.first_noise().map(|(row, sqnr)| json!({
                "operator": row.place.operator,
                "value": row.place.value,
                "sqnr_db": sqnr,
            })),
            "largest_drop": self.largest_drop().map(|(row, drop)| json!({
                "operator": row.place.operator,
                "value": row.place.value,
                "from_db": drop.from,
                "to_db": drop.to,
            })),
            "input_sets": self.input_sets.iter().map(|files| shown(files)).collect::<Vec<_>>(),
            "notes": self.notes,
            "initializers": self.initializers,
            "inputs": self.inputs,
            "problems": self.problems,
        })
    }
}

/// The maximum number of unmatched names of a selection that are shown.
pub(super) const NAMED: usize = 10;

/// The optional columns of a table: those for which some row has a value.
struct Columns {
    run: bool,
    input: bool,
    quantised: bool,
    ulp: bool,
    non_finite: bool,
}

impl Columns {
    fn of(comparison: &Comparison, shown: &[usize]) -> Self {
        let rows = || shown.iter().map(|&index| &comparison.rows[index]);
        let mut runs = comparison.rows.iter().filter_map(|row| row.place.run);
        let first = runs.next();
        let several_sets = comparison.input_sets.len() > 1;
        let is_finite = |d: &Difference| d.nan == [0, 0] && d.infinite == [0, 0];
        Self {
            run: !several_sets && runs.any(|run| Some(run) != first),
            input: several_sets,
            quantised: comparison.is_quantised,
            ulp: !comparison.is_quantised && rows().filter_map(Row::difference).any(|d| d.max_ulp.is_some()),
            non_finite: !rows().filter_map(Row::difference).all(is_finite),
        }
    }

    fn table(&self) -> TextTable {
        let mut columns = vec![Words(""), Middles("tensor")];
        columns.extend(self.run.then_some(Numbers("run")));
        columns.extend(self.input.then_some(Middles("input")));
        columns.extend([Middles("operator"), Middles("type")]);
        columns.extend(["cosine", "max abs", "max rel", "mean rel", "rmse"].map(Numbers));
        columns.extend(self.ulp.then_some(Numbers("ulp")));
        if self.quantised {
            columns.extend(["sqnr", "drop"].map(Numbers));
        }
        if self.non_finite {
            columns.extend(["nan", "inf"].map(Numbers));
        }
        TextTable::new(columns).without_rule().with_spare(&["mean rel", "operator", "rmse", "type", "max rel"])
    }

    fn line(&self, comparison: &Comparison, row: &Row) -> Vec<String> {
        let mark = match row.verdict() {
            Verdict::Same => "",
            Verdict::Unknown => "?",
            Verdict::Different => "!",
        };
        let place = &row.place;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut line = vec![mark.into(), place.label()];
        line.extend(self.run.then(|| place.run.map_or("-".into(), |run| run.to_string())));
        line.extend(self.input.then(|| comparison.files_of(row).unwrap_or_default()));
        line.extend([text(&place.operator), text(&place.op_type)]);
        let Some(d) = row.difference() else {
            let (_, outcome) = outcome_name(row);
            line.push(outcome);
            return line;
        };
        let decibels = |number: Option<f64>| match number {
            Some(number) if number.is_infinite() => "exact".into(),
            // This turns -0.0 into 0.0.
            Some(number) => format!("{:.1} dB", (number * 10.0).round() / 10.0 + 0.0),
            None => "-".to_owned(),
        };
        line.extend(numbers(d));
        line.extend(self.ulp.then(|| match d.max_ulp {
            Some(ulp) if d.mismatches() == 0 => ulp.to_string(),
            _ => "-".into(),
        }));
        if self.quantised {
            let sqnr = d.sqnr.filter(|_| d.mismatches() == 0);
            line.extend([decibels(sqnr), decibels(row.drop.map(|drop| drop.decibels()))]);
        }
        if self.non_finite {
            line.extend([d.nan, d.infinite].map(|[tensor, reference]| format!("{tensor}/{reference}")));
        }
        line
    }
}

/// Returns the numbers of a row. If the two are infinitely far apart, or one has a NaN where the other has none, the
/// other cells are empty.
fn numbers(d: &Difference) -> Vec<String> {
    if d.mismatches() > 0 {
        let apart = if d.nan_mismatches > 0 { "NaN" } else { "inf" };
        return ["-", apart, "-", "-", "-"].map(str::to_owned).to_vec();
    }
    let mut numbers = vec![d.cosine.map_or("-".into(), |cosine| format!("{cosine:.6}"))];
    numbers.extend([d.max_absolute, d.max_relative, d.mean_relative, d.rmse].map(short));
    numbers
}

/// Returns a number by which rows are sorted, the worst first: rows that cannot be compared, then those with NaN on one
/// side only, then the others by the largest error relative to the reference's largest element, or by their
/// signal-to-noise ratio.
pub(super) fn severity(row: &Row, is_quantised: bool) -> f64 {
    match row.difference() {
        None if row.is_within() => 0.0,
        None => f64::INFINITY,
        Some(d) if d.mismatches() > 0 => f64::MAX,
        // Quantised tensors are sorted by their ratio.
        Some(Difference { sqnr: Some(sqnr), .. }) if is_quantised => 10f64.powf(-sqnr / 20.0),
        Some(d) => d.max_absolute / d.max_reference.max(f64::MIN_POSITIVE),
    }
}

fn tensors(count: usize) -> String {
    if count == 1 { "1 tensor".into() } else { format!("{count} tensors") }
}
