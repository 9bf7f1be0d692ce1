//! Where the tensors of a program go: a dump, and the summary that its end returns.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::dump::{
    Contents, Coverage, DirectorySink, DumpInfo, Dumper, InputEntry, Pattern, Request, Selection, close_abandoned,
};
use opscope::model::Fidelity;
use opscope::tensor::{Statistics, TensorView, npy};
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
    /// How what `torch.compile` compiled is executed.
    pub compiled: String,
}

impl ProgramDump {
    /// Creates the directory, and adds the dumper to the program.
    pub fn create(
        program: &mut Program,
        directory: &Path,
        version: &str,
        statistics: bool,
        select: &[String],
        compiled: String,
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
        let mut files = GivenFiles::new(directory, statistics);
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
                file: if given.version.is_none() { files.write(given.name, view) } else { None },
            };
            if given.version.is_some() {
                known.insert(given.name.to_owned(), (version, entry.clone()));
            }
            inputs.add_input(entry);
        }));
        Ok(Self { dumper, directory: directory.to_owned(), patterns, statistics, compiled })
    }

    /// Closes the dump. Returns its summary.
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

/// The inputs of the first step, which are kept for runs of models that were exported from the program.
struct GivenFiles {
    directory: PathBuf,
    is_wanted: bool,
    written: HashSet<String>,
}

/// The folder of a dump that has the inputs of the first step.
const INPUTS: &str = "inputs";

impl GivenFiles {
    fn new(directory: &Path, statistics: bool) -> Self {
        Self { directory: directory.to_owned(), is_wanted: !statistics, written: HashSet::new() }
    }

    /// Writes an input the first time that it is given. Returns the file, relative to the dump. An input that cannot be
    /// written has only its hash in the dump, and a comparison with an exported model asks for it.
    fn write(&mut self, name: &str, view: &TensorView<'_>) -> Option<String> {
        if !self.is_wanted || !self.written.insert(name.to_owned()) {
            return None;
        }
        let file = format!("{INPUTS}/{}.npy", self.written.len() - 1);
        std::fs::create_dir_all(self.directory.join(INPUTS)).ok()?;
        let mut writer = BufWriter::new(File::create_new(self.directory.join(&file)).ok()?);
        npy::write(view, &mut writer).ok()?;
        writer.flush().ok()?;
        Some(file)
    }
}

/// Closes the dump of a process that ended before it could. Returns the number of its tensors.
#[pyfunction]
pub fn close_abandoned_dump(directory: PathBuf, reason: &str) -> PyResult<u64> {
    let found = close_abandoned(&directory, reason).map_err(Failure::from)?;
    Ok(found.tensors)
}
