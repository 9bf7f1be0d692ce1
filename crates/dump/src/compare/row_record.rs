use opscope_model::LoopIteration;
use opscope_tensor::{DType, Difference};
use serde::Serialize;

use super::{Comparison, Outcome, Row, Summary};
use crate::number::{finite, short};

/// A row in CSV and JSON. Numbers that are not finite are missing.
#[derive(Serialize)]
pub(super) struct Record<Shape, Iterations> {
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
    sqnr_db: Option<f64>,
    drop_db: Option<f64>,
    /// The files of the set of inputs, separated by spaces.
    input: Option<String>,
    iterations: Iterations,
}

impl<Shape, Iterations> Record<Shape, Iterations> {
    /// Creates the record of a row. `text`, `shape` and `iterations` convert such values to their form in the file.
    pub fn of(
        row: &Row,
        comparison: &Comparison,
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
            max_ulp: difference.and_then(|difference| difference.max_ulp).filter(|_| !comparison.is_quantised),
            nan: difference.map(|d| d.nan[0]),
            reference_nan: difference.map(|d| d.nan[1]),
            infinite: difference.map(|d| d.infinite[0]),
            reference_infinite: difference.map(|d| d.infinite[1]),
            nan_mismatches: difference.map(|d| d.nan_mismatches),
            infinite_mismatches: difference.map(|d| d.infinite_mismatches),
            count: difference.map(|d| d.count),
            equal: difference.map(|d| d.equal),
            sqnr_db: difference.and_then(|d| d.sqnr).and_then(finite),
            drop_db: row.drop.map(|drop| drop.decibels()),
            input: comparison.files_of(row).map(|files| text(&files)),
            iterations: iterations(&row.place.iterations),
        }
    }
}

/// Returns the outcome of a row: its name in files, and its name in text.
pub(super) fn outcome_name(row: &Row) -> (&'static str, String) {
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
