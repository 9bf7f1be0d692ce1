//! Where the tensors of a program go: a dump, and what is told of it in the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::dump::{
    Contents, Coverage, DirectorySink, DumpInfo, Dumper, InputEntry, Pattern, Request, Selection, close_abandoned,
};
use opscope::model::Fidelity;
use opscope::tensor::Statistics;
use opscope::text::counted;
use opscope_torch::{GivenInput, Program};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::Failure;

/// The dump of a program.
pub struct ProgramDump {
    dumper: Arc<Dumper>,
    directory: PathBuf,
    patterns: Vec<Pattern>,
    statistics: bool,
}

impl ProgramDump {
    /// Creates the directory, and adds the dumper to the program.
    pub fn create(
        program: &mut Program,
        directory: &Path,
        version: &str,
        statistics: bool,
        select: &[String],
    ) -> Result<Self, Failure> {
        let patterns = select.iter().map(|text| Pattern::parse(text).map_err(Failure::input));
        let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
        let selection = Selection { operators: patterns.clone(), ..Selection::default() };
        let info = DumpInfo::new(program.header(), Fidelity::Exact, "torch", version);
        let contents = if statistics { Contents::Statistics } else { Contents::Tensors };
        let sink = DirectorySink::create(directory, contents, &info)?;
        let dumper = Arc::new(Dumper::new());
        dumper.subscribe(Box::new(sink), Request { selection, inputs_in_flight: false, ..Request::default() })?;
        program.add(Arc::clone(&dumper) as _).map_err(Failure::any)?;
        let inputs = Arc::clone(&dumper);
        let mut known: HashMap<String, (u64, InputEntry)> = HashMap::new();
        program.set_given_inputs(Box::new(move |given: &GivenInput<'_>| {
            let version = given.version.unwrap_or(u64::MAX);
            if let Some((written, entry)) = known.get(given.name)
                && given.version == Some(*written)
            {
                return inputs.add_input(entry.clone());
            }
            let Some(view) = &given.view else { return };
            let Ok(statistics) = Statistics::of(view) else { return };
            let entry = InputEntry {
                name: given.name.to_owned(),
                dtype: view.dtype(),
                shape: view.shape().to_vec(),
                xxh3: statistics.xxh3,
            };
            if given.version.is_some() {
                known.insert(given.name.to_owned(), (version, entry.clone()));
            }
            inputs.add_input(entry);
        }));
        Ok(Self { dumper, directory: directory.to_owned(), patterns, statistics })
    }

    /// Closes the dump. Returns what is to be told of it.
    pub fn close<'py>(
        &self,
        py: Python<'py>,
        coverage: &Coverage,
        problems: &[String],
        operators: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        problems.iter().for_each(|problem| self.dumper.set_incomplete(problem));
        self.dumper.set_coverage(coverage);
        let dumper = Arc::clone(&self.dumper);
        let report = py.detach(move || dumper.finish()).map_err(Failure::from)?;
        let report = report.subscriptions.into_iter().next().unwrap_or_default();
        let mut errors = report.errors.clone();
        let missing = report.losses.count();
        if missing > 0 {
            let first = report.losses.named().first();
            let first = first.map(|first| format!("; the first is {}: {}", first.origin, first.reason));
            errors.push(format!("{} missing{}", counted(missing as usize, "tensor"), first.unwrap_or_default()));
        }
        let told = PyDict::new(py);
        told.set_item("directory", &self.directory)?;
        told.set_item("complete", report.is_complete())?;
        told.set_item("tensors", report.delivered.tensors)?;
        told.set_item("bytes", report.delivered.bytes)?;
        told.set_item("operators", operators)?;
        told.set_item("errors", errors)?;
        Ok(told)
    }

    /// Whether only statistics are written.
    pub fn is_of_statistics(&self) -> bool {
        self.statistics
    }

    /// Returns the problem if the selection names none of the operators that were found.
    pub fn unselected(&self, program: &Program) -> Option<String> {
        let is_nothing = !self.patterns.is_empty() && !program.is_any_named(&self.patterns);
        let seen = counted(program.operators(), "operator");
        is_nothing.then(|| format!("the selection matches nothing: it names none of the {seen} that were seen"))
    }
}

/// Closes the dump of a process that ended before it could. Returns the number of its tensors.
#[pyfunction]
pub fn close_abandoned_dump(directory: PathBuf, reason: &str) -> PyResult<u64> {
    let found = close_abandoned(&directory, reason).map_err(Failure::from)?;
    Ok(found.tensors)
}
