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
//! | `by` | what the rows are: operators, modules, kernels, streams, ranks |
//! | `threshold` | which difference is too much |
//! | `pairing` | which operators of A and B did the same work |
//! | `surroundings` | what else differs |
//! | `measurement` | reads recordings and summaries |
//! | `summary_file` | the part of a summary that is compared |
//! | `comparison` | the result |
//! | `error` | why there is none |

mod baseline;
mod by;
mod comparison;
mod csv;
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
use std::path::PathBuf;

use opscope_profile::ProfileError;

pub use by::By;
use comparison::SCHEMA;
pub use comparison::{
    Baseline, Change, Judgement, MeasurementKind, OperatorChange, Presence, Side, SurroundingDifference,
    TimesComparison, TypeChange,
};
use measurement::Executed;
pub use measurement::Times;
pub use summary_file::SummaryError;
use surroundings::load_differences;
pub use threshold::{Threshold, ThresholdError};

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

/// Why a path is not a measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoMeasurement {
    /// Nothing is there.
    #[error("it does not exist")]
    Missing,
    /// A directory of something else.
    #[error("it has no manifest of a recording")]
    NoManifest,
    /// A file that is too large for a summary.
    #[error(transparent)]
    TooLarge(std::io::Error),
    /// A file that is not a valid summary.
    #[error(transparent)]
    Summary(#[from] SummaryError),
}

/// Why times cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimesError {
    /// A file could not be read.
    #[error("{path:?} cannot be read: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A recording could not be read.
    #[error(transparent)]
    Recording(#[from] ProfileError),
    /// There is neither a recording nor a summary.
    #[error(
        "{path:?} is neither a recording nor a summary: {reason}; give the directory of a recording, a file NAME_summary.json, or \
         the directory given to --output"
    )]
    Neither {
        /// The path.
        path: PathBuf,
        /// What was found.
        reason: NoMeasurement,
    },
    /// An output directory with several measurements.
    #[error("{path:?} has several measurements, give one of them: {}", found.join(", "))]
    Several {
        /// The directory.
        path: PathBuf,
        /// What is in it.
        found: Vec<String>,
    },
    /// A recording and a summary.
    #[error(
        "{a} and {b} cannot be compared: the profiler takes time of its own, and a summary has no time of each run of an operator; \
         give two recordings or two summaries"
    )]
    Kinds {
        /// The first.
        a: String,
        /// The second.
        b: String,
    },
    /// No measured run.
    #[error("there is no measured run on one of the sides, so nothing can be compared")]
    NoRuns,
    /// No operator has the same name on both sides.
    #[error(
        "{a} and {b} have no operator in common: the first is called {first_of_a:?} in A and {first_of_b:?} in B; operators are \
         compared by their names in the model's file, so both sides must be the same model, or versions of it"
    )]
    NothingInCommon {
        /// The first.
        a: String,
        /// The name of one of its operators.
        first_of_a: String,
        /// The second.
        b: String,
        /// The name of one of its operators.
        first_of_b: String,
    },
}
