//! Which operators of a model must stay in float32.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opscope::engine::{EngineName, EngineSpec};
use opscope::model::Fidelity;
use opscope::tensor::Tensor;
use opscope::text::counted;
use opscope_job::inputs::{Data, Inputs};
use opscope_job::precision::{
    Cause, Criterion, LowType, PrecisionHooks, PrecisionJob, PrecisionReport, Progress as Step,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::Columns;
use crate::failure::{Failure, input};
use crate::inputs::tensors;
use crate::model::Model;
use crate::table::{Table, document};
use crate::waiting::in_background_with_news;

/// Sets of inputs that are made up if none are given.
const GENERATED: u64 = 8;

/// Which operators of a model must stay in float32.
#[pyclass(module = "opscope", frozen)]
pub struct Precision {
    report: PrecisionReport,
}

/// Finds which operators of a model must stay in float32 when the others compute in a narrower type.
#[pyfunction]
#[pyo3(signature = (model, *, to, inputs, keep_within, check, output, search, budget, other_library, python, seed, progress))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn find_precision(
    py: Python<'_>,
    model: &Bound<'_, Model>,
    to: &str,
    inputs: Option<&Bound<'_, PyAny>>,
    keep_within: &str,
    check: Option<String>,
    output: PathBuf,
    search: Option<usize>,
    budget: Option<f64>,
    other_library: Option<PathBuf>,
    python: PathBuf,
    seed: u64,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Precision> {
    let model = model.get();
    let low = LowType::ALL.into_iter().find(|low| low.name() == to);
    let sets = sets(model, inputs, seed)?;
    let spec = model.run_spec(Fidelity::Exact);
    let mut job = PrecisionJob {
        graph: Arc::clone(model.graph()),
        engine: spec.engine,
        other_engine: None,
        threads: spec.threads,
        budget: spec.budget,
        to: low.ok_or_else(|| input(format!("'{to}' is no type to lower to; there are fp16, bf16 and int8")))?,
        python,
        inputs: Inputs::Each(sets),
        search_inputs: search.map(|sets| positive("search", sets)).transpose()?,
        criterion: match check {
            Some(command) => Criterion::Check(command),
            None => Criterion::Target(keep_within.parse().map_err(Failure::input)?),
        },
        output,
        time: budget.map(|seconds| time("budget", seconds)).transpose()?,
    };
    let other = match job.engine.name {
        EngineName::OnnxRuntime => EngineSpec::default(),
        EngineName::Tract => {
            EngineSpec { name: EngineName::OnnxRuntime, library: other_library, ..EngineSpec::default() }
        }
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    let work = move |tell: &dyn Fn(Step)| {
        job.other_engine = Some(other).filter(|other| runs(other, &job));
        Ok(job.run(&PrecisionHooks { cancelled: Some(&flag), progress: Some(tell) })?)
    };
    let told = |step: Step| match &progress {
        Some(progress) => progress.call1((described(step),)).map(drop),
        None => Ok(()),
    };
    Ok(Precision { report: in_background_with_news(py, &cancel, work, told)? })
}

/// Returns the sets of inputs that are given, or made up.
fn sets(model: &Model, given: Option<&Bound<'_, PyAny>>, seed: u64) -> PyResult<Vec<Vec<Tensor>>> {
    let Some(given) = given else {
        return (0..GENERATED).map(|set| model.inputs_or(None, Data::Random(seed.wrapping_add(set)))).collect();
    };
    if given.is_instance_of::<PyDict>() {
        return Err(input("inputs is a list of sets, each as Model.run takes it; write inputs=[...] around this one"));
    }
    let sets = given.try_iter()?.map(|set| tensors(model.graph(), &set?)).collect::<PyResult<Vec<_>>>()?;
    match sets.is_empty() {
        true => Err(input("inputs has no set; leave it out, and random ones are taken")),
        false => Ok(sets),
    }
}

/// Returns whether another engine is there and runs the model.
fn runs(engine: &EngineSpec, job: &PrecisionJob) -> bool {
    use opscope::Session;
    use opscope::model::LoadOptions;

    let options = LoadOptions { budget: job.budget, ..LoadOptions::new(Fidelity::Exact, job.threads) };
    let loaded =
        engine.open().ok().and_then(|engine| Session::with_engine(engine, Arc::clone(&job.graph), &options).ok());
    let batch = job.inputs.batch(&job.graph, 0).ok();
    loaded.zip(batch).is_some_and(|(session, batch)| session.compute(&batch.tensors, &[]).is_ok())
}

fn positive(name: &str, number: usize) -> PyResult<NonZeroUsize> {
    NonZeroUsize::new(number).ok_or_else(|| input(format!("{name} is a number from 1 on")))
}

fn time(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| input(format!("{name} is a number of seconds, 0 or more, not {seconds}")))
}

fn described(step: Step) -> String {
    match step {
        Step::Operators(set, sets) => format!("looking at every operator alone, inputs {set} of {sets}"),
        Step::Noise => "measuring the noise of float32".to_owned(),
        Step::Trial(size, best) => {
            format!("trying {} in float32; the best so far keeps {best}", counted(size, "operator"))
        }
        Step::HeldOut => "measuring the written model".to_owned(),
    }
}

#[pymethods]
impl Precision {
    /// Whether a minimal set was found, and the written model meets the target.
    #[getter]
    fn ok(&self) -> bool {
        self.report.is_complete()
    }

    /// The exit code of `opscope precision`.
    #[getter]
    fn exit_code(&self) -> u8 {
        if self.report.is_complete() { 0 } else { 3 }
    }

    /// The names of the nodes that must stay in float32.
    #[getter]
    fn kept(&self) -> Vec<&str> {
        self.report.kept.iter().map(|kept| kept.node.as_str()).collect()
    }

    /// Whether the target is missed without any one of them.
    #[getter]
    fn minimal(&self) -> bool {
        self.report.minimal
    }

    /// A row for each operator that is kept.
    #[getter]
    fn table(&self) -> Table {
        let kept = &self.report.kept;
        Columns::of(kept.len())
            .texts("operator", kept.iter().map(|kept| Some(&kept.operator)))
            .texts("node", kept.iter().map(|kept| Some(&kept.node)))
            .texts("op_type", kept.iter().map(|kept| Some(&kept.op_type)))
            .texts("cause", kept.iter().map(|kept| kept.cause.as_ref().map(Cause::word)))
            .numbers("value_without", kept.iter().map(|kept| kept.value_without))
            .into()
    }

    /// The metric of the written model, on the inputs of the search.
    #[getter]
    fn value(&self) -> Option<f64> {
        self.report.value
    }

    /// The metric on inputs that the search did not see.
    #[getter]
    fn held_out(&self) -> Option<f64> {
        self.report.held_out.and_then(|held_out| held_out.mean)
    }

    /// The 95 % interval of `held_out`.
    #[getter]
    fn interval(&self) -> Option<(f64, f64)> {
        self.report.held_out.and_then(|held_out| held_out.low.zip(held_out.high))
    }

    /// The metric between two ways to compute in float32.
    #[getter]
    fn noise(&self) -> Option<f64> {
        self.report.noise
    }

    /// The metric with every operator lowered.
    #[getter]
    fn all_low(&self) -> Option<f64> {
        self.report.all_low.as_ref().and_then(|all_low| all_low.value)
    }

    /// The file of the model that was written.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.report.written.as_deref()
    }

    /// The file with the names of the kept nodes.
    #[getter]
    fn list_path(&self) -> Option<&Path> {
        self.report.list.as_deref()
    }

    /// What `opscope precision` prints.
    fn text(&self) -> String {
        self.report.text().trim_end().to_owned()
    }

    /// The document that `opscope precision --json` prints.
    fn json(&self) -> String {
        self.report.json()
    }

    fn __len__(&self) -> usize {
        self.report.kept.len()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        let kept = counted(self.report.kept.len(), "operator");
        match (&self.report.written, self.report.minimal) {
            (None, _) => "<opscope.Precision: nothing found>".to_owned(),
            (Some(_), true) => format!("<opscope.Precision: {kept} kept in float32>"),
            (Some(_), false) => format!("<opscope.Precision: {kept} kept in float32, cut short>"),
        }
    }

    fn _repr_html_(&self) -> String {
        let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
        let facts = [
            ("target", self.report.target.to_string()),
            (self.report.to.name(), shown(self.all_low())),
            ("kept", format!("{} of {}", self.report.kept.len(), counted(self.report.operators, "operator"))),
            ("value", shown(self.value())),
            ("held out", shown(self.held_out())),
        ];
        document(&self.report.model.display().to_string(), &facts, &self.table().html())
    }
}
