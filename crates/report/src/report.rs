use std::io::{self, Write};
use std::path::{Path, PathBuf};

use opscope::compare::times::{Times, TimesComparison, TimesError};
use opscope_profile::{Manifest, write_whole};
use opscope_roofline::Roofline;

use crate::ReportError;
use crate::facts::RunFacts;
use crate::page;
use crate::source;

/// What a page shows: everything was read, nothing is written yet.
#[derive(Debug)]
pub struct Report {
    runs: Vec<RunFacts>,
    comparison: Option<Result<TimesComparison, TimesError>>,
}

impl Report {
    /// Reads recordings, dumps, summaries and output directories of runs, in any mix. Two runs with recordings, or with summaries,
    /// are compared, the second one with the first. `reading` gets each path before it is read.
    ///
    /// # Errors
    /// Returns an error if a path is none of these, cannot be read, or if there are more runs than a page shows.
    pub fn read(paths: &[PathBuf], reading: &dyn Fn(&Path)) -> Result<Self, ReportError> {
        let mut runs = Vec::new();
        for paths in source::runs(paths)? {
            [&paths.summary, &paths.recording, &paths.dump].into_iter().flatten().for_each(|path| reading(path));
            runs.push(RunFacts::read(&paths)?);
        }
        let comparison = match runs.as_slice() {
            [a, b] => compared(a, b),
            _ => None,
        };
        Ok(Self { runs, comparison })
    }

    /// Compares the operators of recordings with what their machines reach; `machine` returns that for a recording, or `None` if
    /// it is not known.
    pub fn compare_with_machines(&mut self, machine: impl Fn(&Manifest) -> Option<Roofline>) {
        for run in &mut self.runs {
            let (Some(manifest), Some(account)) = (&run.manifest, &mut run.account) else { continue };
            if account.operators.iter().any(|operator| operator.work.is_some())
                && let Some(machine) = machine(manifest)
            {
                account.compare_with(machine);
            }
        }
    }

    /// Returns what is missing of what was read, a sentence each, with the run's name before it.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(|run| run.problems.iter().map(|problem| format!("{}: {problem}", run.name)))
    }

    /// Returns the page.
    ///
    /// # Errors
    /// Returns an error if a chart cannot be drawn.
    pub fn to_html(&self) -> Result<String, ReportError> {
        page::page(&self.runs, self.comparison.as_ref())
    }

    /// Writes the page. It appears under its name when it is whole.
    ///
    /// # Errors
    /// Returns an error if something of that name exists, or it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let html = self.to_html()?;
        write_whole(path, |file| file.write_all(html.as_bytes())).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ReportError::Exists(path.to_owned()),
            _ => ReportError::Write { path: path.to_owned(), source },
        })
    }
}

/// Compares the times of two runs: of their recordings, or else of their summaries. `None` if they have neither in common, or ran
/// models of different names and contents.
fn compared(a: &RunFacts, b: &RunFacts) -> Option<Result<TimesComparison, TimesError>> {
    let recordings = a.paths.recording.as_ref().zip(b.paths.recording.as_ref());
    let (a, b) = recordings.or(a.paths.summary.as_ref().zip(b.paths.summary.as_ref()))?;
    let comparison = Times::open(a).and_then(|a| TimesComparison::by_age(&Times::open(b)?, &a));
    let is_same_model = |comparison: &TimesComparison| {
        let [a, b] = [&comparison.a, &comparison.b];
        a.xxh3 == b.xxh3 || Path::new(&a.model).file_name() == Path::new(&b.model).file_name()
    };
    // Two models on one page need not be two versions of one.
    (!comparison.as_ref().is_ok_and(|comparison| !is_same_model(comparison))).then_some(comparison)
}
