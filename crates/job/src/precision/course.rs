//! The course of a search, step by step.

use std::cell::Cell;
use std::collections::HashSet;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError};
use opscope_model::{Fidelity, Kernel, LoadOptions, Plan, RunId};
use opscope_onnx::{Graph, Lowering, Operator, OperatorId, TensorInfo, ValueId, ValueTypes};
use opscope_tensor::Tensor;
use serde_json::json;

use super::beginnings::Beginnings;
use super::beside::{Measured, measure};
use super::conversion::Conversion;
use super::criterion::Criterion;
use super::journal::{Journal, JournalError, Order};
use super::limits::Limits;
use super::lowered_run::RoundedSlots;
use super::measuring::Noise;
use super::order::{self, Candidate};
use super::quantised::measure_quantised;
use super::quantizer::Quantizer;
use super::report::{AllLow, KeptOperator, LookedAt, PrecisionReport};
use super::search::{Cut, Found, Kept, Verdict, search};
use super::trials::{Rounding, Sample, Trials};
use super::written::{Output, is_a_line};
use super::{PrecisionError, PrecisionHooks, PrecisionJob, Progress};

/// The most sets of inputs that a search sees by default.
const MOST_SEEN: usize = 8;

/// The most bytes that are kept of runs, so that later ones need not begin at the first operator.
const MOST_KEPT: usize = 64 << 20;

/// What every operator does on its own, and what the reference computes.
struct Looked<'a> {
    samples: Vec<Sample<'a>>,
    /// By operator.
    measured: Vec<Measured>,
    /// Whole runs of one set of inputs.
    runs: f64,
}

impl PrecisionJob {
    /// Searches, and writes the model and the list of operators.
    ///
    /// # Errors
    /// Returns an error if the model cannot be run, no operator can be lowered, or the results cannot be written.
    pub fn run(&self, hooks: &PrecisionHooks<'_>) -> Result<PrecisionReport, PrecisionError> {
        let tell = |progress| hooks.progress.iter().for_each(|told| told(progress));
        let cancelled = hooks.cancelled.unwrap_or(Limits::NONE.cancelled);
        // The search has a budget, and what comes before it and behind it has none.
        let limits = Limits { cancelled, end: None };
        let (seen, held_out) = self.divide()?;
        let session = self.session(&self.engine, Arc::clone(&self.graph), Fidelity::Exact)?;
        let sets = (0..seen).map(|index| self.set(index)).collect::<Result<Vec<_>, _>>()?;
        let output = Output::create(&self.output, &self.graph, self.to)?;
        let types = ValueTypes::infer(&self.graph, known_types(&*session.plan(&sets[0])?));
        let (lowering, quantizer);
        let conversion = match self.to.float() {
            Some(dtype) => {
                lowering = Lowering::new(&self.graph, dtype, &types);
                Conversion::Float(&lowering)
            }
            None => {
                let started = Quantizer::start(&self.python, &self.graph, &sets, &self.output);
                quantizer = started.map_err(|error| limits.reason(error))?;
                Conversion::Integers(&quantizer)
            }
        };
        if conversion.candidates().is_empty() {
            return Err(PrecisionError::NothingToLower { model: self.graph.source.path.clone(), to: self.to });
        }
        let looked = self.look(&session, conversion, sets, limits, &tell).map_err(|error| limits.reason(error))?;
        tell(Progress::Noise);
        let Noise { value: noise, unknown: noise_unknown, between: noise_between } =
            self.noise(&session, &looked.samples, limits)?;
        let runs = looked.runs + seen as f64;
        let mut report = PrecisionReport {
            schema: "opscope.precision/1",
            model: self.graph.source.path.clone(),
            to: self.to,
            target: self.criterion.clone(),
            noise,
            noise_unknown,
            noise_between,
            all_low: None,
            kept: Vec::new(),
            all_operators: Vec::new(),
            kept_time: 0.0,
            value: None,
            measured_by: None,
            file_ran: None,
            held_out: None,
            inputs: seen,
            full_runs: runs / seen as f64,
            candidates: conversion.candidates().len(),
            operators: self.graph.all_operators().filter(|operator| !operator.is_constant()).count(),
            minimal: false,
            interrupted: false,
            written: None,
            list: None,
        };
        match &self.criterion {
            Criterion::Target(target) if report.noise_unknown.is_none() && !target.is_met(noise) => {
                output.write_report(&report.json())?;
                return Ok(report);
            }
            Criterion::Check(command) if !Criterion::check(command, &self.graph.source.path)? => {
                return Err(limits.reason(PrecisionError::OriginalFails(command.clone())));
            }
            _ => limits.check()?,
        }
        let journal =
            Journal::open(&output.journal(), &self.identity(&session, &looked.samples)).map_err(
                |error| match error {
                    JournalError::Other => PrecisionError::OtherSearch(self.output.clone()),
                    JournalError::Io(source) => PrecisionError::Output { path: output.journal(), source },
                },
            )?;
        let load = |graph| self.session(&self.engine, graph, Fidelity::Exact);
        let mut trials = Trials {
            conversion,
            load: &load,
            samples: looked.samples,
            criterion: &self.criterion,
            checked: output.tried(),
            limits: Limits { cancelled, end: self.time.and_then(|time| Instant::now().checked_add(time)) },
            journal,
            runs,
        };
        let (candidates, total) = self.ordered(&mut trials, &looked.measured)?;
        report.all_low = Some(self.first_worse(&candidates));
        let found = self.search(&mut trials, &candidates, &output, &mut report, &tell);
        output.remove_tried();
        report.full_runs = trials.runs / seen as f64;
        let found = found?;
        report.interrupted = limits.is_cancelled();
        let Some((kept, without)) = found else {
            limits.check()?;
            output.write_report(&report.json())?;
            return Ok(report);
        };
        report.written = Some(output.model());
        report.list = Some(output.list());
        self.describe(&mut report, &kept, &without, &candidates, total, &output);
        tell(Progress::HeldOut);
        let kept = kept.iter().map(|place| candidates[*place].operator.id).collect();
        // What was found is measured in any case, unless the user ends that, too.
        trials.limits = if report.interrupted { Limits::NONE } else { limits };
        match self.measure_written(&mut report, &mut trials, &session, &kept, &output, held_out) {
            Err(PrecisionError::Cancelled) => report.interrupted = true,
            measured => measured?,
        }
        output.write_report(&report.json())?;
        Ok(report)
    }

    /// Returns how many sets of inputs the search sees, and how many are held out.
    fn divide(&self) -> Result<(usize, usize), PrecisionError> {
        let found = self.inputs.len();
        let seen = self.search_inputs.map_or_else(|| found.div_ceil(2).clamp(1, MOST_SEEN), NonZeroUsize::get);
        match seen <= found {
            true => Ok((seen, found - seen)),
            false => Err(PrecisionError::TooFewInputs { wanted: seen, found }),
        }
    }

    pub(super) fn set(&self, index: usize) -> Result<Vec<Tensor>, PrecisionError> {
        Ok(self.inputs.batch(&self.graph, index)?.tensors)
    }

    pub(super) fn session(
        &self,
        engine: &EngineSpec,
        graph: Arc<Graph>,
        fidelity: Fidelity,
    ) -> Result<Session, PrecisionError> {
        let options = LoadOptions { budget: self.budget, ..LoadOptions::new(fidelity, self.threads) };
        let engine = engine.open().map_err(SessionError::from)?;
        Ok(Session::with_engine(engine, graph, &options).map_err(SessionError::from)?)
    }

    /// Looks at every operator on its own, for each set of inputs.
    fn look<'a>(
        &self,
        session: &Session,
        conversion: Conversion<'a>,
        sets: Vec<Vec<Tensor>>,
        limits: Limits<'_>,
        tell: &dyn Fn(Progress),
    ) -> Result<Looked<'a>, PrecisionError> {
        let ids: HashSet<OperatorId> = conversion.candidates().iter().map(|operator| operator.id).collect();
        let in_order: Vec<OperatorId> = conversion.candidates().iter().map(|operator| operator.id).collect();
        let load = |graph| self.session(&self.engine, graph, Fidelity::Exact);
        let quantised = match conversion {
            Conversion::Float(_) => None,
            Conversion::Integers(_) => conversion.loaded(&HashSet::new(), &load, &sets[0])?,
        };
        // An engine that cannot skip an operator works with taps between operators, which no constant passes.
        let replaces_constants = session.engine().capabilities(Fidelity::Exact).skip;
        let mut measured = vec![Measured::default(); self.graph.all_operators().count()];
        let (mut samples, mut runs, count) = (Vec::new(), 0.0, sets.len());
        for (index, inputs) in sets.into_iter().enumerate() {
            limits.check()?;
            tell(Progress::Operators(index + 1, count));
            let plan = session.plan(&inputs)?;
            let mut rounding = None;
            let outputs = match (conversion, &quantised) {
                (Conversion::Float(lowering), _) => {
                    let slots = RoundedSlots::of(&*plan, lowering, &ids, replaces_constants);
                    let outputs = measure(&*plan, &inputs, &slots, lowering, &mut measured, limits)?;
                    let shown: HashSet<OperatorId> = plan.kernels().iter().filter_map(Kernel::operator).collect();
                    if replaces_constants && ids.is_subset(&shown) {
                        let time = |id: OperatorId| measured[id.index()].ticks;
                        let beginnings = Beginnings::of(&*plan, &self.graph, time, MOST_KEPT / count);
                        rounding = Some(Rounding { plan, slots, lowering, beginnings });
                    }
                    outputs
                }
                (_, Some(quantised)) => {
                    let plans = (&*plan, &*quantised.plan(&inputs)?);
                    let graphs = (&*self.graph, &**quantised.graph());
                    measure_quantised(plans, graphs, &inputs, &in_order, &mut measured, limits)?
                }
                // Nothing is known of single operators.
                (_, None) => limits.run(session, RunId(0), &inputs)?,
            };
            runs += 2.0;
            samples.push(Sample { inputs, outputs, rounding });
        }
        Ok(Looked { samples, measured, runs })
    }

    /// Returns what distinguishes this search from others.
    fn identity(&self, session: &Session, samples: &[Sample<'_>]) -> serde_json::Value {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for tensor in samples.iter().flat_map(|sample| &sample.inputs) {
            hash.update(tensor.bytes());
        }
        json!({
            "model": self.graph.source.xxh3.to_string(),
            "inputs": format!("{:016x}", hash.digest()),
            "to": self.to,
            "target": self.criterion,
            "engine": format!("{} {}", session.engine().name(), session.engine().version()),
        })
    }

    /// Returns the candidates in the order in which they are suspected, and the time of all operators. The journal's
    /// order is kept.
    fn ordered<'a>(
        &self,
        trials: &mut Trials<'a>,
        measured: &[Measured],
    ) -> Result<(Vec<Candidate<'a>>, u64), PrecisionError> {
        let candidate = |operator: &'a Operator| {
            let Measured { error, is_shown, ticks } = measured[operator.id.index()];
            Candidate { operator, error: is_shown.then_some(error), ticks }
        };
        let mut candidates: Vec<_> = trials.conversion.candidates().into_iter().map(candidate).collect();
        let mut total = measured.iter().map(|measured| measured.ticks).sum();
        order::sort(&mut candidates, &self.graph, self.to);
        match trials.journal.order() {
            Some(order) => {
                let place = |id: OperatorId| order.candidates.iter().position(|(known, _)| *known == id.index() as u32);
                for candidate in &mut candidates {
                    candidate.ticks = place(candidate.operator.id).map_or(0, |place| order.candidates[place].1);
                }
                total = order.total;
                candidates.sort_by_cached_key(|candidate| place(candidate.operator.id));
            }
            None => {
                let order = candidates.iter().map(|candidate| (candidate.operator.id.index() as u32, candidate.ticks));
                let order = Order { candidates: order.collect(), total };
                trials.journal.set_order(order).map_err(PrecisionError::Journal)?;
            }
        }
        Ok((candidates, total))
    }

    /// Returns the first operator, in order of execution, whose own error is more than rounding.
    fn first_worse(&self, candidates: &[Candidate<'_>]) -> AllLow {
        let causes = candidates.iter().filter_map(|candidate| Some((candidate, candidate.cause(self.to)?)));
        let first = causes.min_by_key(|(candidate, _)| candidate.operator.id);
        AllLow {
            value: None,
            first: first.map(|(candidate, _)| candidate.operator.display_name().to_owned()),
            cause: first.map(|(_, cause)| cause),
        }
    }

    /// Searches, and writes each set that is better than those before. Returns the best set, and what is measured without
    /// each of its operators; `None` if there was no time for any.
    fn search(
        &self,
        trials: &mut Trials<'_>,
        candidates: &[Candidate<'_>],
        output: &Output<'_>,
        report: &mut PrecisionReport,
        tell: &dyn Fn(Progress),
    ) -> Result<Option<(Kept, Vec<Verdict>)>, PrecisionError> {
        let conversion = trials.conversion;
        let suspects = candidates.iter().filter(|candidate| candidate.cause(self.to).is_some()).count();
        let of = |kept: &Kept| kept.iter().map(|place| candidates[*place].operator.id).collect::<HashSet<_>>();
        let best_size = Cell::new(candidates.len());
        let (mut best, mut all_low) = (None, None);
        let mut trial = |kept: &Kept, whole: bool| {
            tell(Progress::Trial(kept.len(), best_size.get()));
            let verdict = trials.run(&of(kept), whole)?;
            if kept.is_empty() {
                all_low = verdict.value;
            }
            Ok(verdict)
        };
        let mut improved = |kept: &Kept| {
            output.write(conversion, &of(kept)).map_err(Cut::Failed)?;
            best_size.set(kept.len());
            best = Some(kept.clone());
            Ok(())
        };
        let found = search(candidates.len(), suspects, &mut trial, &mut improved);
        if let Some(low) = &mut report.all_low {
            low.value = all_low;
        }
        match found {
            Ok(Found { kept, without }) => {
                report.minimal = true;
                if best.as_ref() != Some(&kept) {
                    output.write(conversion, &of(&kept))?;
                }
                Ok(Some((kept, without)))
            }
            Err(Cut::Enough) => Ok(best.map(|kept| (kept, Vec::new()))),
            Err(Cut::Failed(error)) => Err(error),
        }
    }

    /// Adds the kept operators to the report, in order of execution.
    fn describe(
        &self,
        report: &mut PrecisionReport,
        kept: &Kept,
        without: &[Verdict],
        candidates: &[Candidate<'_>],
        total: u64,
        output: &Output<'_>,
    ) {
        let mut operators: Vec<_> =
            kept.iter().enumerate().map(|(index, place)| (&candidates[*place], without.get(index))).collect();
        operators.sort_by_key(|(candidate, _)| candidate.operator.id);
        let ticks: u64 = operators.iter().map(|(candidate, _)| candidate.ticks).sum();
        report.kept_time = ticks as f64 / total.max(1) as f64;
        let kept_operator = |(candidate, without): &(&Candidate<'_>, Option<&Verdict>)| KeptOperator {
            operator: candidate.operator.name.clone(),
            node: output.node(candidate.operator).to_owned(),
            listed: is_a_line(output.node(candidate.operator)),
            op_type: candidate.operator.op_type.clone(),
            cause: candidate.cause(self.to),
            value_without: without.and_then(|verdict| verdict.value),
        };
        report.kept = operators.iter().map(kept_operator).collect();
        let mut all: Vec<_> = candidates.iter().enumerate().collect();
        all.sort_by_key(|(_, candidate)| candidate.operator.id);
        let looked_at = |(place, candidate): (usize, &Candidate<'_>)| LookedAt {
            operator: candidate.operator.name.clone(),
            op_type: candidate.operator.op_type.clone(),
            error: candidate.error.map(|error| error.rounded.relative()).filter(|error| error.is_finite()),
            cause: candidate.cause(self.to),
            kept: kept.contains(&place),
            time: candidate.ticks as f64 / total.max(1) as f64,
        };
        report.all_operators = all.into_iter().map(looked_at).collect();
    }
}

/// Returns the types of the values that the kernels of a plan compute, and of those that were computed when it was made.
fn known_types(plan: &dyn Plan) -> Vec<(ValueId, TensorInfo)> {
    let mut constants = Vec::new();
    let visited = plan.constants(&mut |value, tensor| {
        constants.push((value, TensorInfo { dtype: Some(tensor.dtype()), shape: tensor.shape().to_vec() }));
        Ok(())
    });
    debug_assert!(visited.is_ok(), "the visitor has no errors");
    let of_kernel = |kernel: &Kernel| {
        let outputs = kernel.outputs.clone().into_iter().zip(kernel.output_types.clone());
        let known = outputs.flat_map(|(values, found)| values.into_iter().map(move |value| (value, found.clone())));
        known
            .filter(|(_, found)| found.dtype.is_some())
            .map(|(value, found)| (value, TensorInfo { dtype: found.dtype, shape: found.shape }))
            .collect::<Vec<_>>()
    };
    plan.kernels().iter().flat_map(of_kernel).chain(constants).collect()
}
