use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opscope::Session;
use opscope::profile::Account;
use opscope_job::benchmark::{Job, JobHooks, Measured, Report};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{operators_table, pair, seconds};
use crate::failure::Failure;
use crate::model::profile::types_table;
use crate::table::{Table, document};
use crate::waiting::in_background;

/// How long a model is measured if nothing else is asked for, and how long it is warmed up then: as by the command.
const MEASURED: Duration = Duration::from_secs(2);
const WARMED_UP: Duration = Duration::from_millis(200);

/// How long a run takes. Times are in seconds, except in columns whose name ends with `_ns`.
#[pyclass(module = "opscope", frozen)]
pub struct Benchmark {
    report: Report,
    measured: Measured,
}

impl Benchmark {
    pub fn take(
        py: Python<'_>,
        session: Arc<Session>,
        mut job: Job,
        duration: Option<f64>,
        runs: Option<u64>,
        warmups: u64,
    ) -> PyResult<Self> {
        job.repetition.warmups = warmups;
        job.profile_beside = true;
        match (duration, runs) {
            (Some(duration), runs) => {
                job.repetition.duration = Some(seconds("duration", duration)?);
                job.repetition.loops = runs.unwrap_or(1);
            }
            (None, Some(runs)) => job.repetition.loops = runs,
            (None, None) => {
                job.repetition.duration = Some(MEASURED);
                job.repetition.warm_up = WARMED_UP;
            }
        }
        let cancel = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&cancel);
        let report = in_background(py, Some(cancel), move || {
            let hooks = JobHooks { cancel: &flag, ..JobHooks::default() };
            Ok(job.run_in(&session, &hooks)?)
        })?;
        let measured = report.first.clone().ok_or_else(|| Failure::engine("nothing was measured"))?;
        Ok(Self { report, measured })
    }

    fn account(&self) -> Option<&Account> {
        self.report.beside.as_ref()
    }
}

#[pymethods]
impl Benchmark {
    /// The median.
    #[getter]
    fn median(&self) -> f64 {
        self.measured.compute.median / 1e3
    }

    /// The 95 % confidence interval of the median; `None` for fewer than 6 independent runs.
    #[getter]
    fn interval<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.measured.median_interval_95.map(|(low, high)| pair(py, (low / 1e3, high / 1e3))).transpose()
    }

    /// The arithmetic mean.
    #[getter]
    fn mean(&self) -> f64 {
        self.measured.compute.mean / 1e3
    }

    /// The shortest run.
    #[getter]
    fn min(&self) -> f64 {
        self.measured.compute.min / 1e3
    }

    /// The longest run.
    #[getter]
    fn max(&self) -> f64 {
        self.measured.compute.max / 1e3
    }

    /// The 99th percentile.
    #[getter]
    fn p99(&self) -> f64 {
        self.measured.compute.p99 / 1e3
    }

    /// How many runs were measured.
    #[getter]
    fn runs(&self) -> usize {
        self.measured.compute.count
    }

    /// The time of each run.
    #[getter]
    fn times(&self) -> Vec<f64> {
        self.measured.npu_compute_time_list.iter().map(|time| time / 1e3).collect()
    }

    /// Samples per second of a run that takes the median time.
    #[getter(throughput)]
    fn throughput_at_median(&self) -> f64 {
        self.measured.throughput_at_median
    }

    /// What a user should know about how the plan runs the model, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.measured.notes.clone()
    }

    /// Where the time goes by operator, of a few more runs with a profiler.
    #[getter]
    fn operators(&self) -> Table {
        operators_table(self.account()).into()
    }

    /// The same by operator type.
    #[getter]
    fn op_types(&self) -> Table {
        types_table(self.account()).into()
    }

    /// The document that `opscope benchmark --json` prints.
    fn json(&self) -> PyResult<String> {
        Ok(serde_json::to_string_pretty(&self.report).map_err(Failure::any)?)
    }

    fn __repr__(&self) -> String {
        format!("<opscope.Benchmark: median {:.4} ms of {} runs>", self.measured.compute.median, self.runs())
    }

    fn _repr_html_(&self) -> String {
        let compute = &self.measured.compute;
        let interval = self.measured.median_interval_95.map(|(low, high)| format!(" ({low:.4} to {high:.4})"));
        let facts = [
            ("median", format!("{:.4} ms{}", compute.median, interval.unwrap_or_default())),
            ("runs", compute.count.to_string()),
            ("throughput", format!("{:.1} samples/s", self.throughput_at_median())),
        ];
        let operators: Table = operators_table(self.account()).into();
        document(&self.report.model.path.display().to_string(), &facts, &operators.html())
    }
}
