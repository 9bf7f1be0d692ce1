//! What is measured before and after a search: the noise of float32, and the written file.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use opscope::Session;
use opscope::engine::EngineSpec;
use opscope_model::{EngineError, Fidelity, RunId};
use opscope_onnx::{Graph, OperatorId};
use opscope_tensor::DType;

use super::beginnings::Beginnings;
use super::conversion::Conversion;
use super::criterion::Criterion;
use super::limits::Limits;
use super::lowered_run::RoundedSlots;
use super::report::{HeldOut, PrecisionReport};
use super::target::Target;
use super::trials::{Rounding, Sample, Trials};
use super::written::Output;
use super::{PrecisionError, PrecisionJob};

/// How far two ways to compute in float32 differ.
pub(super) struct Noise {
    pub value: Option<f64>,
    /// Why it is not known, if it is not.
    pub unknown: Option<String>,
    /// The two ways.
    pub between: [String; 2],
}

impl PrecisionJob {
    /// Measures the metric between the reference and another way to compute in float32. Another way that does not run the
    /// model is no reason to end: then the noise is not known.
    ///
    /// # Errors
    /// Returns an error if the outputs cannot be measured, or the user has ended the search.
    pub(super) fn noise(
        &self,
        session: &Session,
        samples: &[Sample<'_>],
        limits: Limits<'_>,
    ) -> Result<Noise, PrecisionError> {
        let one = session.engine().name().to_owned();
        let Criterion::Target(target) = &self.criterion else {
            return Ok(Noise { value: None, unknown: None, between: [one, String::new()] });
        };
        let outputs = |sample: &Sample<'_>| sample.outputs.iter().any(|output| output.dtype() == DType::F32);
        if !samples.iter().all(outputs) {
            let reason = "the model has no output of float32 numbers";
            return Err(PrecisionError::NoMetric { metric: target.metric, reason });
        }
        let (engine, fidelity, name) = match &self.other_engine {
            Some(engine) => (engine, Fidelity::Exact, engine.name.to_string()),
            None => (&self.engine, Fidelity::Optimised, "its optimised plan".to_owned()),
        };
        let between = [one, name];
        match self
            .session(engine, Arc::clone(&self.graph), fidelity)
            .and_then(|other| difference(*target, &other, samples, limits))
        {
            Ok(value) => Ok(Noise { value, unknown: None, between }),
            Err(PrecisionError::Cancelled) => Err(PrecisionError::Cancelled),
            Err(error) => Ok(Noise { value: None, unknown: Some(error.to_string()), between }),
        }
    }

    /// Runs the written file on the inputs of the search, and on those that it did not see, within the limits of `trials`.
    ///
    /// # Errors
    /// Returns an error if an engine fails, or the user has ended it; the report has what was measured before.
    pub(super) fn measure_written(
        &self,
        report: &mut PrecisionReport,
        trials: &mut Trials<'_>,
        session: &Session,
        kept: &HashSet<OperatorId>,
        output: &Output<'_>,
        held_out: usize,
    ) -> Result<(), PrecisionError> {
        let Criterion::Target(target) = &self.criterion else { return Ok(()) };
        let metric = target.metric;
        let limits = trials.limits;
        let written = self.open_written(&output.model());
        let by = match &written {
            Ok(written) => format!("{}, which ran the file", written.engine().name()),
            Err(refused) => {
                format!("runs in which values are rounded, because no engine here runs the file ({refused})")
            }
        };
        let written = written.ok();
        let lowered = |sample: &Sample<'_>, id| {
            limits.check()?;
            let outputs = trials.outputs(written.as_ref(), id, sample, kept).map(|(outputs, _)| outputs);
            outputs.map_err(|error| match error {
                EngineError::Stopped(_) => limits.reason(error.into()),
                error => error.into(),
            })
        };
        let mut values = Vec::new();
        for (index, sample) in trials.samples.iter().enumerate() {
            values.push(metric.of(&lowered(sample, RunId(index as u64))?, &sample.outputs));
        }
        let values: Option<Vec<f64>> = values.into_iter().collect();
        report.value = values.map(|values| metric.mean(&values));
        report.measured_by = Some(by);
        report.file_ran = Some(written.is_some());
        let held_out_value = |index: usize| -> Result<Option<f64>, PrecisionError> {
            let inputs = self.set(index)?;
            let id = RunId(index as u64);
            let outputs = limits.run(session, id, &inputs)?;
            let rounding = match trials.conversion {
                Conversion::Float(lowering) if written.is_none() => {
                    let ids = lowering.candidates().map(|operator| operator.id).collect();
                    let plan = session.plan(&inputs)?;
                    let slots = RoundedSlots::of(&*plan, lowering, &ids, true);
                    Some(Rounding { slots, plan, lowering, beginnings: Beginnings::default() })
                }
                _ => None,
            };
            let sample = Sample { inputs, outputs, rounding };
            Ok(metric.of(&lowered(&sample, id)?, &sample.outputs))
        };
        let mut values = Vec::new();
        let mut sets = report.inputs..report.inputs + held_out;
        let measured = sets.try_for_each(|index| held_out_value(index).map(|value| values.push(value)));
        report.held_out = HeldOut::of(metric, &values);
        measured
    }

    /// Loads the written file into the engine, or else into the other one. Returns the last error if neither runs it.
    fn open_written(&self, path: &Path) -> Result<Session, PrecisionError> {
        let graph = Arc::new(Graph::load(path)?);
        let inputs = self.set(0)?;
        let open = |engine: &EngineSpec| {
            let session = self.session(engine, Arc::clone(&graph), Fidelity::Exact)?;
            session.plan(&inputs)?;
            Ok(session)
        };
        let first = open(&self.engine);
        match &self.other_engine {
            Some(other) => first.or_else(|_| open(other)),
            None => first,
        }
    }
}

fn difference(
    target: Target,
    other: &Session,
    samples: &[Sample<'_>],
    limits: Limits<'_>,
) -> Result<Option<f64>, PrecisionError> {
    let mut values = Vec::new();
    for (index, sample) in samples.iter().enumerate() {
        let outputs = limits.run(other, RunId(index as u64), &sample.inputs)?;
        values.push(target.metric.of(&outputs, &sample.outputs));
    }
    let values: Option<Vec<f64>> = values.into_iter().collect();
    Ok(values.map(|values| target.metric.mean(&values)))
}
