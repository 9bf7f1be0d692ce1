//! Compares how long two measurements took, B against A, the baseline: two recordings, or two summaries of benchmarks.
//!
//! ```no_run
//! use opscope_job::compare::times::{Times, TimesComparison};
//!
//! let (one, other) = (Times::open("after".as_ref())?, Times::open("before".as_ref())?);
//! let comparison = TimesComparison::by_age(&one, &other)?.with_thresholds(&["5%".parse()?])?;
//! println!("{}", comparison.text(30));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | room | what |
//! |---|---|
//! | `text`, `csv` | a comparison as a table |
//! | `baseline` | which of two measurements is A |
//! | `threshold` | which difference is too much |
//! | `pairing` | which operators of A and B did the same work |
//! | `surroundings` | what else differs |
//! | `measurement` | reads recordings and summaries |
//! | `summary_file` | the part of a summary that is compared |
//! | `comparison` | the result |
//! | `error` | why there is none |

mod baseline;
mod comparison;
mod csv;
mod error;
mod measurement;
mod pairing;
#[cfg(test)]
mod snapshots;
mod summary_file;
mod surroundings;
#[cfg(test)]
mod tests;
mod text;
mod threshold;

use std::collections::BTreeSet;

pub use comparison::{
    Baseline, Change, Judgement, MeasurementKind, OperatorChange, Presence, Side, SurroundingDifference,
    TimesComparison, TypeChange,
};
pub use error::{NoMeasurement, TimesError};
pub use measurement::Times;
pub use summary_file::SummaryError;
pub use threshold::{Threshold, ThresholdError};

use comparison::SCHEMA;
use measurement::Executed;
use surroundings::load_differences;

impl TimesComparison {
    /// Compares B with the baseline A. [`by_age`](Self::by_age) takes the older one as the baseline.
    ///
    /// # Errors
    /// Returns an error if one is a recording and the other a summary, or if they have no operator in common.
    pub fn of(a: &Times, b: &Times) -> Result<Self, TimesError> {
        if a.side.kind != b.side.kind {
            return Err(TimesError::Kinds { a: a.described(), b: b.described() });
        }
        if let (Some(first), Some(other)) = (a.operators.first(), b.operators.first()) {
            let names: BTreeSet<&str> = a.operators.iter().flat_map(Executed::names).collect();
            if !b.operators.iter().flat_map(Executed::names).any(|name| names.contains(name)) {
                return Err(TimesError::NothingInCommon {
                    a: a.described(),
                    first_of_a: first.operator.clone(),
                    b: b.described(),
                    first_of_b: other.operator.clone(),
                });
            }
        }
        let slowdown = a.load.reference.zip(b.load.reference).and_then(|(a, b)| a.slowdown(&b));
        let both =
            |a_times: &[f64], b_times: &[f64]| Change::between(a.estimate(a_times), b.estimate(b_times), slowdown);
        let run = both(&a.runs, &b.runs).ok_or(TimesError::NoRuns)?;
        let (mut operators, mut op_types) = (Vec::new(), Vec::new());
        // If only one measurement has times of operators, all of them would count as new or gone.
        if a.operators.is_empty() == b.operators.is_empty() {
            operators = pairing::operators(a, b, slowdown);
            operators.sort_by(|x, y| y.change.cost().total_cmp(&x.change.cost()));
            op_types = pairing::types(a, b, slowdown);
            op_types.sort_by(|x, y| y.change.cost().total_cmp(&x.change.cost()));
        }
        Ok(Self {
            schema: SCHEMA,
            baseline: Baseline::Chosen,
            surroundings: [a.surroundings.differences(&b.surroundings), load_differences(&a.load, &b.load)].concat(),
            notes: notes(a, b),
            slowdown,
            outside: both(&a.outside, &b.outside),
            run,
            operators,
            op_types,
            a: a.side.clone(),
            b: b.side.clone(),
            judgements: Vec::new(),
        })
    }
}

/// What limits the comparison, a sentence each.
fn notes(a: &Times, b: &Times) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, times) in [("A", a), ("B", b)] {
        if !times.side.complete {
            notes.push(format!("{name} is incomplete: {}", times.problems.join("; ")));
        }
        let measured: f64 = times.side.run_seconds;
        if times.estimate(&times.runs).is_some_and(|estimate| estimate.interval.is_none()) {
            notes.push(format!(
                "the runs of {name} took {} together, which is too short for a confidence interval: what else the machine does \
                 changes more slowly; measure for at least a second, with --duration 1",
                opscope_text::shown_duration(measured * 1e9)
            ));
        }
    }
    if a.operators.is_empty() != b.operators.is_empty() {
        let without = if a.operators.is_empty() { "A" } else { "B" };
        notes.push(format!("{without} has no times of operators, so only the runs are compared"));
    }
    for (name, times) in [("A", a), ("B", b)] {
        let of_run = times.estimate(&times.runs).and_then(|estimate| estimate.interval);
        if of_run.is_some() && times.operators.iter().any(Executed::lacks_interval) {
            notes.push(format!("{name} has medians of operators without confidence intervals; recordings have both"));
        }
    }
    notes
}
