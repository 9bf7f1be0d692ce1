//! Finds which operators of a model must stay in float32 when the others compute in a narrower type.
//!
//! [`PrecisionJob::run`] first looks at every operator on its own: one run of the reference, and one beside it in which
//! each operator computes in the narrower type from the reference's values. That gives the order in which operators are
//! suspected. Then sets of operators are tried, by whole runs, until a smallest one is found; the model with these
//! operators kept is written, and measured on inputs that the search did not see.

mod beside;
mod errors;
mod journal;
mod lowered_run;
mod order;
mod report;
mod rounding;
mod search;
mod target;
mod trials;
mod written;

use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError};
use opscope_model::{EngineError, Fidelity, Kernel, LoadBudget, LoadOptions, NoObserver, Plan, RunId};
use opscope_onnx::{Graph, Lowering, OnnxError, Operator, OperatorId, TensorInfo, ValueId, ValueTypes, WriteError};
use opscope_tensor::{DType, Tensor};
use serde_json::json;

use self::beside::{Measured, measure, run};
pub use self::errors::Cause;
use self::journal::{Journal, JournalError, Order};
use self::lowered_run::RoundedSlots;
use self::order::Candidate;
pub use self::report::{AllLow, HeldOut, KeptOperator, PrecisionReport};
use self::search::{Cut, Found, Kept, search};
pub use self::target::{InvalidTarget, Metric, Target};
use self::trials::{Limits, Sample, Trials, Way};
use self::written::Output;
use crate::inputs::{InputError, Inputs};

/// What is searched for, and with what.
#[derive(Debug)]
pub struct PrecisionJob {
    /// The model.
    pub graph: Arc<Graph>,
    /// The engine that runs it.
    pub engine: EngineSpec,
    /// Another engine, which shows how far two engines differ in float32. `None` means an optimised plan of the same one.
    pub other_engine: Option<EngineSpec>,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// What loading and planning may take.
    pub budget: LoadBudget,
    /// The narrower type: fp16 or bf16.
    pub to: DType,
    /// The inputs. The search sees the first of them; the others are held out.
    pub inputs: Inputs,
    /// How many sets of inputs the search sees. `None` means half of them, at most 8.
    pub search_inputs: Option<NonZeroUsize>,
    /// What the outputs must keep.
    pub target: Target,
    /// The directory for the results, which is created. A search of the same there goes on where it was.
    pub output: PathBuf,
    /// How long the search may take. It then ends with the best set so far.
    pub time: Option<Duration>,
}

/// What a search tells while it runs, and how it is ended.
#[derive(Default)]
pub struct PrecisionHooks<'a> {
    /// Ends the search with the best set so far.
    pub cancelled: Option<&'a AtomicBool>,
    /// Is told what the search does.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// What a search does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Looks at every operator on its own, on this set of inputs of so many.
    Operators(usize, usize),
    /// Tries a set of this many operators; the best so far has as many as the second number says.
    Trial(usize, usize),
    /// Measures the written file.
    HeldOut,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrecisionError {
    /// The model cannot be loaded.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A run failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A set of inputs cannot be read, or does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// More sets of inputs are searched than there are.
    #[error("the search is to see {wanted} sets of inputs, and there are {found}")]
    TooFewInputs {
        /// Sets that the search is to see.
        wanted: usize,
        /// Sets that are given.
        found: usize,
    },
    /// No operator computes in float32.
    #[error(
        "no operator of {model:?} can compute in {to}: none of them gives float32 numbers from the data of its inputs"
    )]
    NothingToLower {
        /// The model.
        model: PathBuf,
        /// `fp16` or `bf16`.
        to: &'static str,
    },
    /// The outputs cannot be measured.
    #[error("the metric {metric} cannot be measured: {reason}")]
    NoMetric {
        /// The metric.
        metric: Metric,
        /// Why.
        reason: &'static str,
    },
    /// The model's file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The directory has the results of another search.
    #[error(
        "{0:?} holds another search: of another model, other inputs or another target; give another directory, or remove it"
    )]
    OtherSearch(PathBuf),
    /// The directory cannot be created, or a file in it cannot be written.
    #[error("{path:?} cannot be written: {source}")]
    Output {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The trials cannot be stored.
    #[error("the trials cannot be stored, and the best result so far is kept: {0}")]
    Journal(io::Error),
}

impl From<OnnxError> for PrecisionError {
    fn from(error: OnnxError) -> Self {
        Self::Session(error.into())
    }
}

impl PrecisionJob {
    /// Searches, and writes the model and the list of operators.
    ///
    /// # Errors
    /// Returns an error if the model cannot be run, no operator can be lowered, or the results cannot be written.
    pub fn run(&self, hooks: &PrecisionHooks<'_>) -> Result<PrecisionReport, PrecisionError> {
        let limits = Limits {
            cancelled: hooks.cancelled.unwrap_or(Limits::NONE.cancelled),
            end: self.time.and_then(|time| Instant::now().checked_add(time)),
        };
        let tell = |progress| hooks.progress.iter().for_each(|told| told(progress));
        let (seen, held_out) = self.divide()?;
        let session = self.session(&self.engine, Arc::clone(&self.graph), Fidelity::Exact)?;
        let batch = |index| Ok::<_, PrecisionError>(self.inputs.batch(&self.graph, index)?.tensors);

        let plan = session.plan(&batch(0)?)?;
        let types = ValueTypes::infer(&self.graph, known_types(&*plan));
        let lowering = Lowering::new(&self.graph, self.to, types);
        let candidates: Vec<&Operator> = lowering.candidates().collect();
        let ids: HashSet<OperatorId> = candidates.iter().map(|operator| operator.id).collect();
        if candidates.is_empty() {
            let model = self.graph.source.path.clone();
            return Err(PrecisionError::NothingToLower { model, to: report::short(self.to) });
        }

        // An engine that cannot skip an operator works with taps between operators, which no constant passes.
        let replaces_constants = session.engine().capabilities(Fidelity::Exact).skip;
        let shown: HashSet<OperatorId> = plan.kernels().iter().filter_map(Kernel::operator).collect();
        let way = match replaces_constants && ids.is_subset(&shown) {
            true => Way::Rounding,
            false => Way::File(Box::new(|graph| self.session(&self.engine, graph, Fidelity::Exact))),
        };
        let (mut samples, mut measured, mut runs) = (Vec::new(), Vec::new(), 0.0);
        for index in 0..seen {
            tell(Progress::Operators(index + 1, seen));
            let inputs = batch(index)?;
            let plan = session.plan(&inputs)?;
            let slots = RoundedSlots::of(&*plan, &lowering, &ids, replaces_constants);
            if measured.len() != slots.len() {
                // Another plan has other kernels.
                measured = vec![Measured::default(); slots.len()];
            }
            let outputs = measure(&*plan, &inputs, &slots, &lowering, &mut measured)?;
            runs += 2.0;
            samples.push(Sample { plan, slots, inputs, outputs });
        }
        let (noise, noise_between) = self.noise(&session, &samples)?;
        runs += seen as f64;
        let mut report = PrecisionReport {
            schema: "opscope.precision/1",
            model: self.graph.source.path.clone(),
            to: self.to,
            target: self.target,
            noise,
            noise_between,
            all_low: None,
            kept: Vec::new(),
            kept_time: 0.0,
            value: None,
            measured_by: None,
            held_out: None,
            inputs: seen,
            full_runs: runs / seen as f64,
            candidates: candidates.len(),
            operators: self.graph.all_operators().filter(|operator| !operator.is_constant()).count(),
            minimal: false,
            written: None,
            list: None,
        };
        if !self.target.is_met(noise) {
            return Ok(report);
        }

        let output = Output::create(&self.output, &self.graph, &lowering)?;
        let journal =
            Journal::open(&output.journal(), &self.identity(&session, &samples)).map_err(|error| match error {
                JournalError::Other => PrecisionError::OtherSearch(self.output.clone()),
                JournalError::Io(source) => PrecisionError::Output { path: output.journal(), source },
            })?;
        let mut trials = Trials { way, lowering: &lowering, samples, target: self.target, limits, journal, runs };
        let (candidates, total) = ordered(&mut trials, &candidates, &measured)?;
        let in_order: Vec<&Operator> = {
            let mut all: Vec<_> = candidates.iter().collect();
            all.sort_by_key(|candidate| candidate.operator.id);
            report.all_low = Some(AllLow { value: None, first: None, cause: None });
            let causes = all.iter().map(|candidate| (candidate, candidate.cause(self.to)));
            if let (Some(all_low), Some((first, Some(cause)))) =
                (&mut report.all_low, causes.into_iter().find(|(_, cause)| cause.is_some()))
            {
                all_low.first = Some(first.operator.display_name().to_owned());
                all_low.cause = Some(cause);
            }
            candidates.iter().map(|candidate| candidate.operator).collect()
        };
        let suspects = candidates.iter().filter(|candidate| candidate.cause(self.to).is_some()).count();
        let of = |kept: &Kept| kept.iter().map(|place| in_order[*place].id).collect::<HashSet<_>>();
        let mut best: Option<Kept> = None;
        let mut all_low = None;
        let found = {
            let mut best_size = in_order.len();
            let sizes = std::cell::Cell::new(best_size);
            let mut trial = |kept: &Kept| {
                if limits.is_over() {
                    return Err(Cut::Enough);
                }
                tell(Progress::Trial(kept.len(), sizes.get()));
                let verdict = trials.run(&of(kept))?;
                if kept.is_empty() {
                    all_low = verdict.value;
                }
                Ok(verdict)
            };
            let mut improved = |kept: &Kept| {
                output.write(&of(kept)).map_err(Cut::Failed)?;
                best_size = kept.len();
                sizes.set(best_size);
                best = Some(kept.clone());
                Ok(())
            };
            search(in_order.len(), suspects, &mut trial, &mut improved)
        };
        report.full_runs = trials.runs / seen as f64;
        if let Some(low) = &mut report.all_low {
            low.value = all_low;
        }
        let (kept, without) = match found {
            Ok(Found { kept, without }) => {
                report.minimal = true;
                if best.as_ref() != Some(&kept) {
                    output.write(&of(&kept))?;
                }
                (Some(kept), without)
            }
            Err(Cut::Enough) => (best, Vec::new()),
            Err(Cut::Failed(error)) => return Err(error),
        };
        let Some(kept) = kept else { return Ok(report) };
        report.written = Some(output.model());
        report.list = Some(output.list());
        let mut kept_operators: Vec<_> =
            kept.iter().enumerate().map(|(index, place)| (&candidates[*place], without.get(index))).collect();
        kept_operators.sort_by_key(|(candidate, _)| candidate.operator.id);
        let ticks: u64 = kept_operators.iter().map(|(candidate, _)| candidate.ticks).sum();
        report.kept_time = ticks as f64 / total.max(1) as f64;
        let kept_operator = |(candidate, without): &(&Candidate<'_>, Option<&search::Verdict>)| KeptOperator {
            operator: candidate.operator.name.clone(),
            node: output.node(candidate.operator).to_owned(),
            op_type: candidate.operator.op_type.clone(),
            cause: candidate.cause(self.to),
            value_without: without.and_then(|verdict| verdict.value),
        };
        report.kept = kept_operators.iter().map(kept_operator).collect();
        tell(Progress::HeldOut);
        self.measure_written(&mut report, &mut trials, &session, &of(&kept), &output, held_out)?;
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

    fn session(&self, engine: &EngineSpec, graph: Arc<Graph>, fidelity: Fidelity) -> Result<Session, PrecisionError> {
        let options = LoadOptions { budget: self.budget, ..LoadOptions::new(fidelity, self.threads) };
        let engine = engine.open().map_err(SessionError::from)?;
        Ok(Session::with_engine(engine, graph, &options).map_err(SessionError::from)?)
    }

    /// Returns the metric between the reference and another way to compute in float32, and what the two are.
    fn noise(&self, session: &Session, samples: &[Sample]) -> Result<(Option<f64>, [String; 2]), PrecisionError> {
        let named = |session: &Session| session.engine().name().to_owned();
        let (other, name) = match &self.other_engine {
            Some(engine) => {
                let other = self.session(engine, Arc::clone(&self.graph), Fidelity::Exact)?;
                let name = named(&other);
                (other, name)
            }
            None => (
                self.session(&self.engine, Arc::clone(&self.graph), Fidelity::Optimised)?,
                "its optimised plan".to_owned(),
            ),
        };
        let mut values = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let outputs = run(&*other.plan(&sample.inputs)?, RunId(index as u64), &sample.inputs, NoObserver)?;
            if !outputs.iter().any(|output| matches!(output.dtype(), DType::F32)) {
                return Err(self.no_metric("the model has no output of float32 numbers"));
            }
            values.push(self.target.metric.of(&outputs, &sample.outputs));
        }
        let values: Option<Vec<f64>> = values.into_iter().collect();
        Ok((values.map(|values| self.target.metric.mean(&values)), [named(session), name]))
    }

    fn no_metric(&self, reason: &'static str) -> PrecisionError {
        PrecisionError::NoMetric { metric: self.target.metric, reason }
    }

    /// Returns what distinguishes this search from others.
    fn identity(&self, session: &Session, samples: &[Sample]) -> serde_json::Value {
        let mut hash = xxhash_rust::xxh3::Xxh3::new();
        for tensor in samples.iter().flat_map(|sample| &sample.inputs) {
            hash.update(tensor.bytes());
        }
        json!({
            "model": self.graph.source.xxh3.to_string(),
            "inputs": format!("{:016x}", hash.digest()),
            "to": report::short(self.to),
            "target": self.target,
            "engine": format!("{} {}", session.engine().name(), session.engine().version()),
        })
    }

    /// Runs the written file on the inputs of the search, and on those that it did not see.
    fn measure_written(
        &self,
        report: &mut PrecisionReport,
        trials: &mut Trials<'_>,
        session: &Session,
        kept: &HashSet<OperatorId>,
        output: &Output<'_>,
        held_out: usize,
    ) -> Result<(), PrecisionError> {
        // What was found is measured in any case.
        trials.limits = Limits::NONE;
        let metric = self.target.metric;
        let written = self.open_written(&output.model());
        report.measured_by = Some(match &written {
            Some(written) => format!("{}, which ran the file", written.engine().name()),
            None => format!("runs in which values are rounded; no engine here runs {}", report::short(self.to)),
        });
        let lowered = |sample: &Sample, id| trials.outputs(written.as_ref(), id, sample, kept);
        let mut values = Vec::new();
        for (index, sample) in trials.samples.iter().enumerate() {
            values.push(metric.of(&lowered(sample, RunId(index as u64))?, &sample.outputs));
        }
        let values: Option<Vec<f64>> = values.into_iter().collect();
        report.value = values.map(|values| metric.mean(&values));
        let mut values = Vec::new();
        for index in report.inputs..report.inputs + held_out {
            let inputs: Vec<Tensor> = self.inputs.batch(&self.graph, index)?.tensors;
            let (plan, id) = (session.plan(&inputs)?, RunId(index as u64));
            let outputs = run(&*plan, id, &inputs, NoObserver)?;
            let slots = match &trials.samples[0] {
                sample if Arc::ptr_eq(&sample.plan, &plan) => sample.slots.clone(),
                _ => {
                    let ids = trials.lowering.candidates().map(|operator| operator.id).collect();
                    RoundedSlots::of(&*plan, trials.lowering, &ids, true)
                }
            };
            let sample = Sample { plan, slots, inputs, outputs };
            values.push(metric.of(&lowered(&sample, id)?, &sample.outputs));
        }
        report.held_out = HeldOut::of(&values);
        Ok(())
    }

    /// Loads the written file into the engine, or into the other one, if one of them can run it.
    fn open_written(&self, path: &Path) -> Option<Session> {
        let graph = Arc::new(Graph::load(path).ok()?);
        let engines = std::iter::once(&self.engine).chain(&self.other_engine);
        let inputs = self.inputs.batch(&self.graph, 0).ok()?.tensors;
        engines.into_iter().find_map(|engine| {
            let session = self.session(engine, Arc::clone(&graph), Fidelity::Exact).ok()?;
            session.plan(&inputs).is_ok().then_some(session)
        })
    }
}

/// The most sets of inputs that a search sees by default.
const MOST_SEEN: usize = 8;

/// Returns the types of the values that the kernels of a plan compute.
fn known_types(plan: &dyn Plan) -> Vec<(ValueId, TensorInfo)> {
    let of_kernel = |kernel: &Kernel| {
        let outputs = kernel.outputs.clone().into_iter().zip(kernel.output_types.clone());
        let known = outputs.flat_map(|(values, found)| values.into_iter().map(move |value| (value, found.clone())));
        known
            .filter(|(_, found)| found.dtype.is_some())
            .map(|(value, found)| (value, TensorInfo { dtype: found.dtype, shape: found.shape }))
            .collect::<Vec<_>>()
    };
    plan.kernels().iter().flat_map(of_kernel).collect()
}

/// Returns the candidates in the order in which they are suspected, and the time of all operators. The journal's order
/// is kept.
fn ordered<'g>(
    trials: &mut Trials<'g>,
    operators: &[&'g Operator],
    measured: &[Measured],
) -> Result<(Vec<Candidate<'g>>, u64), PrecisionError> {
    let mut candidates: Vec<Candidate<'g>> =
        operators.iter().map(|operator| Candidate { operator, error: None, ticks: 0 }).collect();
    let plan = Arc::clone(&trials.samples[trials.samples.len() - 1].plan);
    let mut total = 0;
    for (kernel, measured) in plan.kernels().iter().zip(measured) {
        total += measured.ticks;
        let Some(id) = kernel.operator() else { continue };
        if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.operator.id == id) {
            candidate.ticks += measured.ticks;
            candidate.error.get_or_insert_default().join(&measured.error);
        }
    }
    order::sort(&mut candidates, trials.lowering);
    match trials.journal.order() {
        Some(order) => {
            let place = |id: OperatorId| order.candidates.iter().position(|(known, _)| *known == id.index() as u32);
            for candidate in &mut candidates {
                candidate.ticks = place(candidate.operator.id).map_or(0, |place| order.candidates[place].1);
            }
            total = order.total;
            candidates.sort_by_key(|candidate| place(candidate.operator.id));
        }
        None => {
            let order = candidates.iter().map(|candidate| (candidate.operator.id.index() as u32, candidate.ticks));
            let order = Order { candidates: order.collect(), total };
            trials.journal.set_order(order).map_err(PrecisionError::Journal)?;
        }
    }
    Ok((candidates, total))
}
