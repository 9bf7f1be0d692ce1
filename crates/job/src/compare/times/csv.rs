use ::csv::Writer;
use opscope_text::cell_text;
use serde::Serialize;

use super::comparison::{Change, TimesComparison};

/// A row of the table. Times are nanoseconds.
#[derive(Serialize)]
struct Row {
    /// `run`, `outside`, `operator`, `added` or `type`.
    row: &'static str,
    name: String,
    op_type: String,
    presence: &'static str,
    a_ns: Option<f64>,
    a_low_ns: Option<f64>,
    a_high_ns: Option<f64>,
    b_ns: Option<f64>,
    b_low_ns: Option<f64>,
    b_high_ns: Option<f64>,
    difference_ns: f64,
    difference_low_ns: Option<f64>,
    difference_high_ns: Option<f64>,
    percent: Option<f64>,
    percent_low: Option<f64>,
    percent_high: Option<f64>,
    /// The other operators of the row, with blanks between them.
    others: String,
}

impl TimesComparison {
    /// Returns the comparison as comma-separated values: a row for the run, for what lies outside of operators, for each
    /// operator and for each type.
    pub fn csv(&self) -> String {
        let total = [("run", Some(&self.run)), ("outside", self.outside.as_ref())].into_iter();
        let total = total.filter_map(|(name, change)| Some(Row::of(name, String::new(), "", change?)));
        let operators = self.operators.iter().map(|operator| Row {
            name: operator.operators.first().map(|name| cell_text(name).into_owned()).unwrap_or_default(),
            presence: operator.presence.label(),
            others: cell_text(&operator.operators.get(1..).unwrap_or_default().join(" ")).into_owned(),
            ..Row::of(
                if operator.added { "added" } else { "operator" },
                String::new(),
                &operator.op_type,
                &operator.change,
            )
        });
        let types = self.op_types.iter().map(|one| Row::of("type", one.op_type.clone(), &one.op_type, &one.change));
        let mut table = Writer::from_writer(Vec::new());
        let written = total.chain(operators).chain(types).try_for_each(|row| table.serialize(row));
        let bytes = written.and_then(|()| table.into_inner().map_err(|error| error.into_error().into()));
        String::from_utf8(bytes.expect("memory takes every row")).expect("rows are text")
    }
}

impl Row {
    fn of(row: &'static str, name: String, op_type: &str, change: &Change) -> Self {
        let low = |interval: Option<(f64, f64)>| interval.map(|(low, _)| low);
        let high = |interval: Option<(f64, f64)>| interval.map(|(_, high)| high);
        Self {
            row,
            name: cell_text(&name).into_owned(),
            op_type: cell_text(op_type).into_owned(),
            presence: "",
            a_ns: change.a_ns,
            a_low_ns: low(change.a_interval_ns),
            a_high_ns: high(change.a_interval_ns),
            b_ns: change.b_ns,
            b_low_ns: low(change.b_interval_ns),
            b_high_ns: high(change.b_interval_ns),
            difference_ns: change.difference_ns,
            difference_low_ns: low(change.difference_interval_ns),
            difference_high_ns: high(change.difference_interval_ns),
            percent: change.percent,
            percent_low: low(change.percent_interval),
            percent_high: high(change.percent_interval),
            others: String::new(),
        }
    }
}
