use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use opscope::Session;
use opscope::profile::{Account, Format, ProfilerOptions, Recording, TimelineRuns};
use opscope_job::benchmark::{CaptureSpec, Job, JobHooks};
use opscope_report::Report;
use pyo3::prelude::*;
use tempfile::TempDir;

use crate::columns::Columns;
use crate::failure::Failure;
use crate::table::{Table, document};
use crate::waiting::in_background;

/// A recording of runs: of a profile that was just taken, or one that was opened.
#[pyclass(module = "opscope", frozen)]
pub struct Profile {
    directory: PathBuf,
    /// The temporary directory of a profile that was just taken. It is removed with this object.
    _temporary: Option<TempDir>,
    account: Account,
    problems: Vec<String>,
}

impl Profile {
    pub fn take(py: Python<'_>, session: Arc<Session>, mut job: Job, runs: u64, warmups: u64) -> PyResult<Self> {
        let temporary = tempfile::Builder::new().prefix("opscope-").tempdir();
        let temporary =
            temporary.map_err(|error| Failure::file(format!("no temporary directory can be made: {error}")))?;
        let directory = temporary.path().join("recording");
        (job.repetition.loops, job.repetition.warmups) = (runs, warmups);
        job.set_capture(CaptureSpec::Profile {
            directory: directory.clone(),
            options: Box::new(ProfilerOptions::default()),
            exports: Format::ALL.to_vec(),
            timeline_runs: TimelineRuns::default(),
        });
        let cancel = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancel);
        in_background(py, Some(cancel), move || {
            let hooks = JobHooks { cancel: &flag, ..JobHooks::default() };
            job.run_in(&session, &hooks)?;
            let recording = Recording::open(&directory)?;
            let account = recording.account()?;
            Ok(Self { directory, _temporary: Some(temporary), account, problems: recording.problems().to_vec() })
        })
    }

    /// Opens a recording.
    pub fn open(py: Python<'_>, directory: PathBuf) -> PyResult<Self> {
        in_background(py, None, move || {
            let recording = Recording::open(&directory)?;
            let account = recording.account()?;
            Ok(Self { directory, _temporary: None, account, problems: recording.problems().to_vec() })
        })
    }
}

#[pymethods]
impl Profile {
    /// Where the recording is. That of a profile that was just taken is temporary: see `save`.
    #[getter]
    fn path(&self) -> &Path {
        &self.directory
    }

    /// Where the time goes by operator.
    #[getter]
    fn operators(&self) -> Table {
        operators_table(Some(&self.account)).into()
    }

    /// Where the time goes by operator type.
    #[getter]
    fn op_types(&self) -> Table {
        types_table(Some(&self.account)).into()
    }

    /// The ranges of the program's own code, by name.
    #[getter]
    fn ranges(&self) -> Table {
        let ranges = &self.account.ranges;
        let columns = Columns::of(ranges.len())
            .texts("range", ranges.iter().map(|row| Some(&row.range)))
            .integers("count", ranges.iter().map(|row| Some(row.count)))
            .numbers("total_ns", ranges.iter().map(|row| Some(row.total_ns)))
            .numbers("mean_ns", ranges.iter().map(|row| Some(row.mean_ns)))
            .numbers("median_ns", ranges.iter().map(|row| Some(row.median_ns)));
        columns.into()
    }

    /// The measured runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.account.runs.measured
    }

    /// The median time of a run, in seconds.
    #[getter]
    fn median(&self) -> f64 {
        self.account.run.median_ns / 1e9
    }

    /// Whether the recording has everything that was recorded.
    #[getter]
    fn complete(&self) -> bool {
        self.account.complete
    }

    /// What the recording lacks, a sentence each.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// The account as JSON, as `opscope inspect --json` has it.
    fn json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.account).map_err(Failure::any)?)
    }

    /// Copies the recording, with its timelines and tables, to a directory, which must not exist. Returns its path.
    fn save(&self, py: Python<'_>, directory: PathBuf) -> PyResult<PathBuf> {
        py.detach(|| copy(&self.directory, &directory)).map_err(|error| {
            Failure::file(match error.kind() {
                io::ErrorKind::AlreadyExists => {
                    format!("{directory:?} exists, and nothing is overwritten; give another name")
                }
                _ => format!("the recording cannot be saved as {directory:?}: {error}"),
            })
        })?;
        Ok(directory)
    }

    /// Writes a page of HTML, which loads nothing, to a file, which must not exist. Returns its path.
    fn report(&self, py: Python<'_>, file: PathBuf) -> PyResult<PathBuf> {
        py.detach(|| Report::read(std::slice::from_ref(&self.directory), &|_| {})?.write(&file))
            .map_err(Failure::from)?;
        Ok(file)
    }

    fn __repr__(&self) -> String {
        let median = self.account.run.median_ns / 1e6;
        format!("<opscope.Profile: {} runs, median {median:.4} ms>", self.account.runs.measured)
    }

    fn _repr_html_(&self) -> String {
        let facts = [
            ("runs", self.account.runs.measured.to_string()),
            ("median", format!("{:.4} ms", self.account.run.median_ns / 1e6)),
        ];
        document(&self.account.model, &facts, &self.operators().html())
    }
}

/// Copies a directory with everything in it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => fs::copy(entry.path(), target).map(drop)?,
        }
    }
    Ok(())
}

/// The operators of an account; no rows without one.
pub fn operators_table(account: Option<&Account>) -> Columns {
    let rows = account.map_or(&[][..], |account| &account.operators);
    Columns::of(rows.len())
        .texts("operator", rows.iter().map(|row| Some(&row.operator)))
        .texts("op_type", rows.iter().map(|row| Some(&row.op_type)))
        .numbers("percent", rows.iter().map(|row| Some(row.percent)))
        .numbers("median_ns", rows.iter().map(|row| Some(row.median_ns)))
        .numbers("median_low_ns", rows.iter().map(|row| row.median_interval_95_ns.map(|interval| interval.0)))
        .numbers("median_high_ns", rows.iter().map(|row| row.median_interval_95_ns.map(|interval| interval.1)))
        .numbers("mean_ns", rows.iter().map(|row| Some(row.mean_ns)))
        .numbers("p90_ns", rows.iter().map(|row| Some(row.p90_ns)))
        .numbers("p99_ns", rows.iter().map(|row| Some(row.p99_ns)))
        .integers("dispatches", rows.iter().map(|row| Some(row.dispatches)))
        .texts("fused", rows.iter().map(|row| (!row.fused.is_empty()).then(|| row.fused.join(", "))))
        .truths("exact", rows.iter().map(|row| row.exact))
        .truths("added", rows.iter().map(|row| row.added))
        .texts("display_name", rows.iter().map(|row| row.origin.as_ref().map(|origin| &origin.display_name)))
}

/// The operator types of an account; no rows without one.
pub fn types_table(account: Option<&Account>) -> Columns {
    let rows = account.map_or(&[][..], |account| &account.op_types);
    Columns::of(rows.len())
        .texts("op_type", rows.iter().map(|row| Some(&row.op_type)))
        .integers("operators", rows.iter().map(|row| Some(row.operators)))
        .numbers("percent", rows.iter().map(|row| Some(row.percent)))
        .numbers("median_ns", rows.iter().map(|row| Some(row.median_ns)))
        .numbers("mean_ns", rows.iter().map(|row| Some(row.mean_ns)))
        .integers("dispatches", rows.iter().map(|row| Some(row.dispatches)))
        .truths("added", rows.iter().map(|row| row.added))
}
