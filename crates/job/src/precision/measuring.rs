//! What is measured before and after a search: the noise of float32, and the written file.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use opscope::Session;
use opscope::engine::EngineSpec;
use opscope_model::{Fidelity, NoObserver, RunId};
use opscope_onnx::{Graph, OperatorId};
use opscope_tensor::DType;

use super::beside::run;
use super::conversion::Conversion;
use super::criterion::Criterion;
use super::lowered_run::RoundedSlots;
use super::report::{HeldOut, PrecisionReport};
use super::target::Target;
use super::trials::{Limits, Rounding, Sample, Trials};
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
    pub(super) fn noise(&self, session: &Session, samples: &[Sample<'_>]) -> Result<Noise, PrecisionError> {
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
            .and_then(|other| self.difference(*target, &other, samples))
        {
            Ok(value) => Ok(Noise { value, unknown: None, between }),
            Err(error) => Ok(Noise { value: None, unknown: Some(error.to_string()), between }),
        }
    }

    fn difference(
        &self,
        target: Target,
        other: &Session,
        samples: &[Sample<'_>],
    ) -> Result<Option<f64>, PrecisionError> {
        let mut values = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let outputs = run(&*other.plan(&sample.inputs)?, RunId(index as u64), &sample.inputs, NoObserver)?;
            values.push(target.metric.of(&outputs, &sample.outputs));
        }
        let values: Option<Vec<f64>> = values.into_iter().collect();
        Ok(values.map(|values| target.metric.mean(&values)))
    }

    /// Runs the written file on the inputs of the search, and on those that it did not see.
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
        // What was found is measured in any case.
        trials.limits = Limits::NONE;
        let metric = target.metric;
        let written = self.open_written(&output.model());
        report.measured_by = Some(match &written {
            Ok(written) => format!("{}, which ran the file", written.engine().name()),
            Err(refused) => {
                format!("runs in which values are rounded, because no engine here runs the file ({refused})")
            }
        });
        report.file_ran = Some(written.is_ok());
        let written = written.ok();
        let lowered = |sample: &Sample<'_>, id| trials.outputs(written.as_ref(), id, sample, kept);
        let mut values = Vec::new();
        for (index, sample) in trials.samples.iter().enumerate() {
            values.push(metric.of(&lowered(sample, RunId(index as u64))?, &sample.outputs));
        }
        let values: Option<Vec<f64>> = values.into_iter().collect();
        report.value = values.map(|values| metric.mean(&values));
        let mut values = Vec::new();
        for index in report.inputs..report.inputs + held_out {
            let inputs = self.set(index)?;
            let (plan, id) = (session.plan(&inputs)?, RunId(index as u64));
            let outputs = run(&*plan, id, &inputs, NoObserver)?;
            let rounding = match trials.conversion {
                Conversion::Float(lowering) if written.is_none() => {
                    let ids = lowering.candidates().map(|operator| operator.id).collect();
                    Some(Rounding { slots: RoundedSlots::of(&*plan, lowering, &ids, true), plan, lowering })
                }
                _ => None,
            };
            let sample = Sample { inputs, outputs, rounding };
            values.push(metric.of(&lowered(&sample, id)?, &sample.outputs));
        }
        report.held_out = HeldOut::of(metric, &values);
        Ok(())
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
