//! Where the tensors of a program go: a dump, which an `acl.json` may describe, and the summary that its end returns.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::dump::{
    Coverage, DumpFormat, DumpInfo, Dumper, InputEntry, Io, Pattern, Request, Selection, close_abandoned,
};
use opscope::model::Fidelity;
use opscope::tensor::{Digest, TensorView, npy};
use opscope::text::counted;
use opscope_acl_json::{AclConfig, AclError, DumpSection, Problem};
use opscope_job::benchmark::apply_acl_json_to_program;
use opscope_torch::{GivenInput, Program};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::{Failure, input};

/// The dump of a program.
pub struct ProgramDump {
    dumper: Arc<Dumper>,
    directory: PathBuf,
    wanted: Wanted,
    /// Whether only statistics of outputs are written.
    statistics: bool,
    /// Whether what operators take is written.
    pub takes_inputs: bool,
    /// How what `torch.compile` compiled is executed.
    pub compiled: String,
}

/// What is dumped.
pub enum Wanted {
    /// What these patterns name, all if there are none; or only statistics of that.
    Named { patterns: Vec<Pattern>, statistics: bool },
    /// What an `acl.json` names.
    Acl(AclDump),
}

impl Wanted {
    /// Returns what patterns name.
    pub fn named(select: &[String], statistics: bool) -> Result<Self, Failure> {
        let patterns = select.iter().map(|text| Pattern::parse(text).map_err(Failure::input));
        Ok(Self::Named { patterns: patterns.collect::<Result<Vec<_>, _>>()?, statistics })
    }

    /// Returns how it is captured, and notes for the user.
    fn request(&self, program: &Program) -> Result<(Request, &'static DumpFormat, Vec<String>), Failure> {
        match self {
            Self::Named { patterns, statistics } => {
                let selection = Selection { operators: patterns.clone(), ..Selection::default() };
                let format = if *statistics { &DumpFormat::STATISTICS } else { &DumpFormat::NPY };
                Ok((Request { selection, inputs_in_flight: false, ..Request::default() }, format, Vec::new()))
            }
            Self::Acl(acl) => acl.request(program),
        }
    }
}

impl ProgramDump {
    /// Creates the directory, and adds the dumper to the program. Returns notes for the user, too.
    pub fn create(
        program: &mut Program,
        directory: &Path,
        version: &str,
        wanted: Wanted,
        compiled: String,
    ) -> Result<(Self, Vec<String>), Failure> {
        let (request, format, notes) = wanted.request(program)?;
        let takes_inputs = request.selection.io.contains(Io::Input);
        let statistics = *format == DumpFormat::STATISTICS && !takes_inputs;
        let info = DumpInfo::new(program.header(), Fidelity::Exact, "torch", version);
        let sink = format.create(directory, &info, false)?;
        let dumper = Arc::new(Dumper::new());
        dumper.subscribe(sink, request)?;
        program.add(Arc::clone(&dumper) as _).map_err(Failure::any)?;
        let inputs = Arc::clone(&dumper);
        let mut known: HashMap<String, (u64, InputEntry)> = HashMap::new();
        let mut files = GivenFiles::new(directory, *format == DumpFormat::NPY);
        program.set_given_inputs(Box::new(move |given: &GivenInput<'_>| {
            let version = given.version.unwrap_or(u64::MAX);
            if let Some((written, entry)) = known.get(given.name)
                && given.version == Some(*written)
            {
                return inputs.add_input(entry.clone());
            }
            let Some(view) = &given.view else { return };
            let Ok(xxh3) = Digest::of_tensor(view) else { return };
            let entry = InputEntry {
                name: given.name.to_owned(),
                dtype: view.dtype(),
                shape: view.shape().to_vec(),
                xxh3,
                file: if given.version.is_none() { files.write(given.name, view) } else { None },
            };
            if given.version.is_some() {
                known.insert(given.name.to_owned(), (version, entry.clone()));
            }
            inputs.add_input(entry);
        }));
        let directory = directory.to_owned();
        Ok((Self { dumper, directory, wanted, statistics, takes_inputs, compiled }, notes))
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

    /// Returns what was wanted and is none of the operators that were found.
    pub fn unselected(&self, program: &Program) -> Vec<String> {
        match &self.wanted {
            Wanted::Named { patterns, .. } => {
                let is_nothing = !patterns.is_empty() && !program.is_any_named(patterns);
                let seen = counted(program.operators(), "operator");
                let problem = format!("the selection matches nothing: it names none of the {seen} that were seen");
                is_nothing.then_some(problem).into_iter().collect()
            }
            Wanted::Acl(acl) => acl.unknown(program),
        }
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
    fn new(directory: &Path, is_wanted: bool) -> Self {
        Self { directory: directory.to_owned(), is_wanted, written: HashSet::new() }
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

/// The text of an `acl.json`, and the directory that paths in it are relative to.
#[derive(FromPyObject)]
pub struct AclText(String, PathBuf);

/// What a file dumps.
pub struct AclDump(DumpSection);

impl AclDump {
    pub fn read(AclText(text, working_dir): &AclText) -> Result<Self, Failure> {
        let config = AclConfig::parse(text, working_dir).map_err(|problems| wrong(&problems))?;
        let dump = config.dump_of_program().map_err(|AclError(problems)| wrong(&problems))?;
        Ok(Self(dump.clone()))
    }

    /// Returns how the file dumps a program, and notes for the user.
    pub fn request(&self, program: &Program) -> Result<(Request, &'static DumpFormat, Vec<String>), Failure> {
        let applied = apply_acl_json_to_program(&self.0, program.header());
        let (request, format, notes) = applied.map_err(|AclError(problems)| wrong(&problems))?;
        Ok((request, format, notes.iter().map(ToString::to_string).collect()))
    }

    /// Returns what the file names and the program has not executed.
    pub fn unknown(&self, program: &Program) -> Vec<String> {
        let problems = self.0.check_found(program.header(), program.found_operators());
        problems.iter().map(ToString::to_string).collect()
    }
}

fn wrong(problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Failure::input(lines.join("\n"))
}

/// Reads an `acl.json` that describes the dump of a program. Returns its text, the directory that it names for a dump
/// of this name, and notes for the user.
#[pyfunction]
pub fn read_acl_json(path: PathBuf, working_dir: PathBuf, name: &str) -> PyResult<(String, PathBuf, Vec<String>)> {
    let config = AclConfig::read(&path, &working_dir).map_err(|problems| wrong(&problems))?;
    let dump = config.dump_of_program().map_err(|AclError(problems)| wrong(&problems))?;
    let text = opscope::files::read_text(&path, opscope_acl_json::LARGEST_FILE).map_err(input)?;
    let notes = config.notes.iter().map(ToString::to_string).collect();
    Ok((text, dump.directory(Path::new(name)), notes))
}
