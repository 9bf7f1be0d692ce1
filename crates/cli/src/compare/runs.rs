//! Runs that are given by their names, OUT/RUN: the parts of them that are compared.

use std::path::{Path, PathBuf};

use opscope_job::benchmark::StoredRun;
use opscope_job::compare::times::Times;

use super::{CompareArguments, Sides};
use crate::exit::Failure;
use crate::terminal::Messages;

/// Replaces each run by the part of it that is compared. Of two runs, that is the tensors of their dumps, or else their
/// times. If only one side is a run, it is the part of the same kind as the other side. Other paths stay unchanged.
pub(super) fn resolve(sides: Sides<'_>, arguments: &CompareArguments) -> Result<(PathBuf, PathBuf), Failure> {
    let messages = Messages { quiet: arguments.quiet, debug: false };
    let Sides { compared, baseline, .. } = sides;
    match [compared, baseline].map(StoredRun::find) {
        [None, None] if arguments.outputs => {
            Err(Failure::wrong_use("--outputs is for runs that are given by their names, OUT/RUN"))
        }
        [None, None] => Ok((compared.to_owned(), baseline.to_owned())),
        [Some(a), Some(b)] => of_both(&a, &b, arguments.outputs, messages),
        [Some(run), None] => Ok((of_one(&run, baseline, arguments.outputs)?, baseline.to_owned())),
        [None, Some(run)] => Ok((compared.to_owned(), of_one(&run, compared, arguments.outputs)?)),
    }
}

fn of_both(a: &StoredRun, b: &StoredRun, outputs: bool, messages: Messages) -> Result<(PathBuf, PathBuf), Failure> {
    let both = |a: &Option<PathBuf>, b: &Option<PathBuf>| Some((a.clone()?, b.clone()?));
    if outputs {
        return both(&a.outputs, &b.outputs).ok_or_else(|| lacks(if a.outputs.is_none() { a } else { b }, "outputs"));
    }
    let times = both(&a.recording, &b.recording).or_else(|| both(&a.summary, &b.summary));
    let tensors = both(&a.dump, &b.dump);
    if let (Some(_), Some((first, second))) = (&tensors, &times) {
        messages.note(format!(
            "both runs have dumps, which are compared; for their times write {} {}",
            first.display(),
            second.display()
        ));
    }
    let none = || {
        let (a, b) = (a.path.display(), b.path.display());
        Failure::wrong_use(format!(
            "{a} and {b} have neither times nor dumps in common; --outputs compares the models' outputs"
        ))
    };
    tensors.or(times).ok_or_else(none)
}

/// Returns the part of a run that can be compared with something else.
fn of_one(run: &StoredRun, other: &Path, outputs: bool) -> Result<PathBuf, Failure> {
    let tensors = || run.dump.as_ref().filter(|_| !outputs).or(run.outputs.as_ref());
    let (part, what) = match Times::is_at(other) && !outputs {
        true => {
            let recording = run.recording.as_ref();
            (recording.filter(|_| !other.is_file()).or(run.summary.as_ref()).or(recording), "times")
        }
        false => (tensors(), "tensors"),
    };
    part.cloned().ok_or_else(|| lacks(run, what))
}

fn lacks(run: &StoredRun, what: &str) -> Failure {
    Failure::wrong_use(format!("the run {} has no {what} to compare", run.path.display()))
}
