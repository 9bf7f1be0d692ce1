use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope_files::write_whole;
use opscope_job::compare::times::{Times, TimesComparison, TimesError};
use opscope_onnx::Graph;
use opscope_profile::Manifest;
use opscope_roofline::Roofline;

use crate::ReportError;
use crate::facts::{NotDrawn, RunFacts, ValuesComparison};
use crate::page;
use crate::source;

/// The content of a page, which was read completely but not written yet.
#[derive(Debug)]
pub struct Report {
    runs: Vec<RunFacts>,
    comparison: Option<Result<TimesComparison, TimesError>>,
    values: Option<ValuesComparison>,
    /// Whether the order of execution was known when the values were compared.
    is_ordered: bool,
    /// How many older runs in output directories the page omits.
    left_out: usize,
}

impl Report {
    /// Reads recordings, dumps, summaries and output directories of runs, in any mix. If there are two runs with
    /// recordings, or with summaries, the second is compared with the first. The same holds for two dumps. `reading` is
    /// called with each path before it is read.
    ///
    /// # Errors
    /// Returns an error if a path is none of these, cannot be read, or if there are more runs than a page shows.
    pub fn read(paths: &[PathBuf], reading: &dyn Fn(&Path)) -> Result<Self, ReportError> {
        let mut runs = Vec::new();
        let (found, left_out) = source::runs(paths)?;
        for paths in found {
            [&paths.summary, &paths.recording, &paths.dump, &paths.precision]
                .into_iter()
                .flatten()
                .for_each(|path| reading(path));
            runs.push(RunFacts::read(&paths)?);
        }
        let comparison = match runs.as_slice() {
            [a, b] => compared(a, b),
            _ => None,
        };
        let mut report = Self { runs, comparison, values: None, is_ordered: false, left_out };
        if report.has_two_dumps() {
            let graphs = [0, 1].map(|run| model_of(&report.runs[run]).ok().map(Arc::new));
            report.compare_values(graphs)?;
        }
        Ok(report)
    }

    /// Returns whether the page has exactly two runs, both of one model and each with a dump.
    fn has_two_dumps(&self) -> bool {
        matches!(&self.runs[..], [a, b] if is_same_model(a, b) && a.dump.is_some() && b.dump.is_some())
    }

    /// Compares the dump of the second run with that of the first one. The graphs are those of the models of the first
    /// and of the second run.
    fn compare_values(&mut self, [graph, other]: [Option<Arc<Graph>>; 2]) -> Result<(), ReportError> {
        let [reference, run] = &mut self.runs[..] else { return Ok(()) };
        let (Some(dump), Some(other_dump)) = (&run.dump, &reference.dump) else { return Ok(()) };
        self.is_ordered = other.is_some();
        let graphs = [other, graph];
        let values = ValuesComparison::of((&run.name, &dump.path), (&reference.name, &other_dump.path), graphs)?;
        run.errors.clone_from(&values.errors);
        self.values = Some(values);
        Ok(())
    }

    /// Compares the operators of recordings with the limits of their machines. `machine` returns the limits of the
    /// machine of a recording, or `None` if they are unknown.
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

    /// Draws the graph of each run's model: the one of `models` with the run's hash, or else the file that the run
    /// names, if it still exists unchanged. A run with neither gets a sentence instead of the drawing.
    ///
    /// # Errors
    /// Returns an error if one of `models` cannot be read or belongs to none of the runs, or if dumps cannot be read
    /// again to compare them.
    pub fn draw_graphs(&mut self, models: &[PathBuf]) -> Result<(), ReportError> {
        let load = |path: &PathBuf| Graph::load(path).map(Arc::new);
        let given = models.iter().map(load).collect::<Result<Vec<Arc<Graph>>, _>>()?;
        if let Some(other) = given.iter().find(|graph| !self.runs.iter().any(|run| run.is_of(graph))) {
            return Err(self.other_model(other));
        }
        let given_of = |run: &RunFacts| given.iter().find(|graph| run.is_of(graph)).cloned();
        if self.has_two_dumps() && !self.is_ordered {
            let graphs = [given_of(&self.runs[0]), given_of(&self.runs[1])];
            if graphs[1].is_some() {
                self.compare_values(graphs)?;
            }
        }
        let mut left = MOST_DRAWN;
        for run in self.runs.iter_mut().filter(|run| !run.is_only_a_search()) {
            let found = match given_of(run) {
                Some(graph) => Ok(graph),
                None => model_of(run).map(Arc::new),
            };
            if let Ok(graph) = &found {
                run.add_graph(graph);
            }
            match found {
                Ok(graph) if graph.operators.len() > left => {
                    run.picture = Some(Err(NotDrawn::TooManyOperators(MOST_DRAWN)));
                }
                Ok(graph) => {
                    left -= graph.operators.len();
                    run.draw(&graph);
                }
                Err(reason) => run.picture = Some(Err(reason)),
            }
        }
        Ok(())
    }

    fn other_model(&self, graph: &Graph) -> ReportError {
        let of_runs: Vec<String> = self
            .runs
            .iter()
            .filter_map(|run| {
                let (model, hash) = (run.model.as_deref()?, run.model_hash?);
                Some(format!("{} ran {model} (xxh3 {hash})", run.name))
            })
            .collect();
        let expected = if of_runs.is_empty() { "they do not say what they ran".to_owned() } else { of_runs.join(", ") };
        ReportError::OtherModel { path: graph.source.path.clone(), xxh3: graph.source.xxh3, expected }
    }

    /// Returns how many runs the page omits: those in an output directory that are older than the ones it shows.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns what is missing, one sentence each, beginning with the run's name.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        self.runs.iter().flat_map(|run| run.problems.iter().map(|problem| format!("{}: {problem}", run.name)))
    }

    /// Returns the page. Its commands are for the current directory.
    ///
    /// # Errors
    /// Returns an error if a chart cannot be drawn.
    pub fn to_html(&self) -> Result<String, ReportError> {
        self.to_html_in(Path::new("."))
    }

    /// Returns the page for a directory, in which its commands are to be run.
    fn to_html_in(&self, directory: &Path) -> Result<String, ReportError> {
        page::page(&self.runs, self.comparison.as_ref(), self.values.as_ref(), directory)
    }

    /// Writes the page. It appears under its name once it is complete. Its commands are to be run in the directory of
    /// the page.
    ///
    /// # Errors
    /// Returns an error if a file with that name exists, if a chart cannot be drawn, or if the page cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let html = self.to_html_in(directory.unwrap_or(Path::new(".")))?;
        write_whole(path, |file| file.write_all(html.as_bytes())).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => ReportError::Exists(path.to_owned()),
            _ => ReportError::Write { path: path.to_owned(), source },
        })
    }
}

/// How many operators all drawings of a page may have together.
const MOST_DRAWN: usize = 12_000;

impl RunFacts {
    /// Returns whether this is the run's model, by its contents.
    fn is_of(&self, graph: &Graph) -> bool {
        self.model_hash == Some(graph.source.xxh3)
    }
}

/// Reads the model that a run names.
fn model_of(run: &RunFacts) -> Result<Graph, NotDrawn> {
    let path = run.model.as_deref().filter(|model| !model.is_empty()).ok_or(NotDrawn::NoModel)?;
    let directory = run.started_in.as_ref().ok_or_else(|| NotDrawn::NotFound(path.to_owned()))?;
    let graph = Graph::load(&directory.join(path))?;
    if run.is_of(&graph) { Ok(graph) } else { Err(NotDrawn::Changed(path.to_owned())) }
}

/// Compares the times of two runs: of their recordings, or else of their summaries. Returns `None` if they do not both
/// have one of these, or if their models differ in name and content.
fn compared(a: &RunFacts, b: &RunFacts) -> Option<Result<TimesComparison, TimesError>> {
    // Two models on one page need not be versions of one model, and the times of dumped runs do not count.
    if !is_same_model(a, b) || !a.is_timed() || !b.is_timed() {
        return None;
    }
    let recordings = a.paths.recording.as_ref().zip(b.paths.recording.as_ref());
    let (a, b) = recordings.or(a.paths.summary.as_ref().zip(b.paths.summary.as_ref()))?;
    let comparison = Times::open(a).and_then(|a| TimesComparison::by_age(&Times::open(b)?, &a));
    Some(comparison)
}

/// Returns whether two runs are of one model, or of two versions of it: whether the contents or the file names of their
/// models are equal.
fn is_same_model(a: &RunFacts, b: &RunFacts) -> bool {
    let name =
        |run: &RunFacts| run.model.as_deref().and_then(|model| Path::new(model).file_name().map(ToOwned::to_owned));
    (a.model_hash.is_some() && a.model_hash == b.model_hash) || (name(a).is_some() && name(a) == name(b))
}
