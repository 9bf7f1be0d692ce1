//! Comparing times: of two recordings, or two summaries.

use std::num::NonZeroUsize;

use opscope::dump::{MatchBy, Order};
use opscope::model::Fidelity;
use opscope_job::compare::times::{Times, TimesComparison, TimesError};

use super::{CompareArguments, Sides, write_new};
use crate::exit::{Exit, Failure};
use crate::terminal::{print, print_json, table_width};

/// Compares the times. The older one is the baseline, unless the user chose.
pub(super) fn run(arguments: &CompareArguments, sides: Sides<'_>) -> Result<Exit, Failure> {
    refuse_options_of_tensors(arguments, sides)?;
    let open = |path| Times::open_by(path, arguments.by).map_err(failure);
    let (compared, baseline) = (open(sides.compared)?, open(sides.baseline)?);
    let comparison = match sides.is_chosen {
        true => TimesComparison::of(&baseline, &compared),
        false => TimesComparison::by_age(&compared, &baseline),
    };
    let comparison = comparison.map_err(failure)?;
    let comparison = comparison.with_thresholds(&arguments.fail_above).map_err(Failure::wrong_use)?;
    if let Some(path) = &arguments.csv {
        write_new(path, &comparison.csv())?;
    }
    match arguments.json {
        true => print_json(comparison.json())?,
        false => print(comparison.text_within(arguments.rows, table_width()).trim_end())?,
    }
    let judged = |verdict: Option<bool>| comparison.judgements.iter().any(|judgement| judgement.exceeded == verdict);
    let is_complete = comparison.a.complete && comparison.b.complete;
    Ok(match () {
        () if judged(Some(true)) => Exit::Different,
        () if judged(None) || !is_complete => Exit::Incomplete,
        () => Exit::Done,
    })
}

fn failure(error: TimesError) -> Failure {
    match error {
        TimesError::Io { .. } => Failure::failed(error),
        _ => Failure::wrong_use(error),
    }
}

fn refuse_options_of_tensors(arguments: &CompareArguments, sides: Sides<'_>) -> Result<(), Failure> {
    let given = [
        ("--engine", arguments.engine.engine.is_some()),
        ("--reference-engine", arguments.reference_engine.is_some()),
        ("--load-budget", arguments.load_budget.is_some()),
        ("--input", !arguments.input.is_empty()),
        ("--dym-shape", arguments.dym_shape.is_some()),
        ("--model", arguments.model.is_some()),
        ("--map", !arguments.map.is_empty()),
        ("--shards", !arguments.shards.is_empty()),
        ("--first-samples", arguments.first_samples),
        ("--mapping", arguments.mapping.is_some()),
        ("--tolerance", !arguments.tolerances.is_empty()),
        ("--least-sqnr", arguments.least_sqnr.is_some()),
        ("--isolate", arguments.isolate),
        ("--fidelity", arguments.fidelity != Fidelity::Exact),
        ("--reference-fidelity", arguments.reference_fidelity != Fidelity::Exact),
        ("--engine-threads", arguments.engine_threads > NonZeroUsize::MIN),
        ("--reference-threads", arguments.reference_threads > NonZeroUsize::MIN),
        ("--seed", arguments.seed != 0),
        ("--match", arguments.match_by != MatchBy::Name),
        ("--order", arguments.order != Order::Graph),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(Failure::wrong_use(format!(
            "{option} is for tensors, and times are compared here: {} and {} are recordings or summaries",
            sides.compared.display(),
            sides.baseline.display()
        ))),
        None => Ok(()),
    }
}
