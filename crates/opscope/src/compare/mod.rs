//! Compares the tensors of two runs of a model, or of a run and a dump, while running: no dump is written. [`times`] compares
//! how long two runs took.

mod outputs;
pub mod times;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_dump::{
    BlacklistEntry, CompareOptions, CompareSink, Comparison, DumpError, Dumper, InputEntry, Io, IoSelection, KeepSink,
    Position, Request, Selection, Sink, StoredDump, StoredOrigin,
};
use opscope_model::{EngineError, Fidelity, Instrument, LoadBudget, LoadOptions, Plan, RunId, RunInfo};
use opscope_onnx::{Graph, Operator, ValueId};
use opscope_tensor::Tensor;

use self::outputs::OutputsOnly;
use crate::engine::EngineSpec;
use crate::verify::with_known_values;
use crate::{Session, SessionError};

/// A model, and how it is run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The ONNX file.
    pub model: PathBuf,
    /// The engine that runs it.
    pub engine: EngineSpec,
    /// How faithfully it is followed. All values can be observed only at exact fidelity; at optimised fidelity, those that
    /// the plan's kernels compute, or only the model's outputs where the engine does not show those values.
    pub fidelity: Fidelity,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
    /// What loading and planning may take.
    pub budget: LoadBudget,
}

/// What a run is compared with.
#[derive(Debug, Clone)]
pub enum Reference {
    /// Another run, on the same inputs.
    Run(RunSpec),
    /// A dump.
    Dump(Arc<StoredDump>),
}

/// Why a run could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A model cannot be loaded.
    #[error("{source}")]
    Session {
        /// How it should run.
        run: Box<RunSpec>,
        /// Why it cannot.
        source: SessionError,
    },
    /// A run failed.
    #[error("{}: {source}", run.label())]
    Engine {
        /// The run.
        run: Box<RunSpec>,
        /// Why it failed.
        source: EngineError,
    },
    /// The tensors of a run could not be captured.
    #[error(transparent)]
    Dump(#[from] DumpError),
}

/// How many bytes of the reference's tensors are kept in memory; the rest is kept in an unnamed file.
const KEPT_IN_MEMORY: u64 = 128 << 20;

/// Runs a model once and compares every tensor with the reference's.
///
/// # Errors
/// Returns an error if a model cannot be loaded or run, or there is no room for the tensors of the reference.
pub fn compare_run(
    run: &RunSpec,
    reference: &Reference,
    inputs: &[Tensor],
    mut options: CompareOptions,
) -> Result<Comparison, CompareError> {
    let mut io = IoSelection::Outputs;
    let (kept, engine, hidden, problems) = match reference {
        Reference::Dump(dump) => {
            // Inputs of operators are compared only if the dump has them.
            if run.fidelity == Fidelity::Exact && dump.tensors.iter().any(|tensor| tensor.place.io == Some(Io::Input)) {
                io = IoSelection::All;
            }
            (Arc::clone(dump), dump.engine(), HashSet::new(), Vec::new())
        }
        Reference::Run(reference) => {
            let (sink, keeper) = KeepSink::new(KEPT_IN_MEMORY, std::env::temp_dir());
            let ran = reference.run(inputs, Box::new(sink), io)?;
            options.same_inputs = true;
            let kept = StoredDump { path: reference.label().into(), ..keeper.dump() };
            (Arc::new(kept), Some(reference.engine.name.name()), ran.hidden, ran.missing)
        }
    };
    if options.graph.is_none() {
        let graph = Graph::load(&run.model).map_err(|error| run.not_loaded(error))?;
        options.graph = Some(Arc::new(graph));
    }
    options.tolerances = options.tolerances.between([Some(run.engine.name.name()), engine], &kept);
    let (sink, comparer) = CompareSink::new(kept, options);
    let ran = run.run(inputs, Box::new(sink), io)?;
    let mut comparison = comparer.comparison(&run.label());
    comparison.problems.extend(problems);
    let is_in = |hidden: &HashSet<String>, place: &mut StoredOrigin| {
        place.value.as_ref().is_some_and(|name| hidden.contains(name))
    };
    let only_in_tensors = comparison.only_in_tensors.extract_if(.., |place| is_in(&hidden, place));
    let only_in_reference = comparison.only_in_reference.extract_if(.., |place| is_in(&ran.hidden, place));
    comparison.fused.extend(only_in_tensors.chain(only_in_reference));
    Ok(comparison)
}

/// What a run did not show.
struct Unseen {
    /// The names of the values that the plan does not show because it fuses operators or does not show their bodies.
    hidden: HashSet<String>,
    /// What was selected and not captured, each with its reason.
    missing: Vec<String>,
}

impl RunSpec {
    /// Its name in a comparison.
    fn label(&self) -> String {
        let threads = if self.threads.get() == 1 { String::new() } else { format!(", {} threads", self.threads) };
        let (model, engine, fidelity) = (self.model.display(), self.engine.name, self.fidelity);
        format!("{model} ({engine}, {fidelity}{threads})")
    }

    fn not_loaded(&self, error: impl Into<SessionError>) -> CompareError {
        CompareError::Session { run: Box::new(self.clone()), source: error.into() }
    }

    /// Runs once and writes every value that can be observed to a sink.
    fn run(&self, inputs: &[Tensor], sink: Box<dyn Sink>, io: IoSelection) -> Result<Unseen, CompareError> {
        let options = LoadOptions { budget: self.budget, ..LoadOptions::new(self.fidelity, self.threads) };
        let failed = |source| CompareError::Engine { run: Box::new(self.clone()), source };
        let engine = self.engine.open().map_err(|error| self.not_loaded(error))?;
        let mut session = Session::open_with(engine, &self.model, &options).map_err(|error| self.not_loaded(error))?;
        let inputs = fitted(inputs, session.graph());
        let shows_values = session.engine().capabilities(self.fidelity).intermediates;
        if shows_values
            && self.fidelity == Fidelity::Optimised
            && let Ok(known) = with_known_values(&session, &inputs)
        {
            session = known;
        }
        let mut plan = session.model().plan(&inputs).map_err(failed)?;
        if !shows_values {
            plan = Arc::new(OutputsOnly::of(plan, session.graph()));
        }
        let resident = plan.upload(&inputs).map_err(failed)?;
        let graph = session.graph();
        let hidden = hidden(graph, &*plan, self.fidelity);
        let dumper = Dumper::new();
        let selection = Selection { io, name_blacklist: blacklist(graph, &hidden), ..Selection::default() };
        dumper.subscribe(sink, Request { selection, ..Request::default() })?;
        dumper.add_plan(&**session.model(), &*plan)?;
        dumper.set_inputs(RunId(0), InputEntry::of(graph, &inputs));
        let info = RunInfo { id: RunId(0), graph, kernels: plan.kernels(), fidelity: self.fidelity };
        // Consumers know the engine's own kernels, which show nothing then.
        let observer = if shows_values { session.observe(&info, &[&dumper]) } else { dumper.observe(&info) };
        let outcome = plan.run(RunId(0), &*resident, &*observer);
        drop(observer);
        let report = dumper.finish()?;
        outcome.map_err(failed)?;
        let missing = report.subscriptions.iter().flat_map(|subscription| subscription.losses.named());
        let missing =
            missing.map(|missing| format!("{}: {}: {}", self.label(), missing.origin, missing.reason)).collect();
        let hidden = hidden.into_iter().map(|value| graph.value(value).name.clone()).collect();
        Ok(Unseen { hidden, missing })
    }
}

/// The inputs, cast to the types that a model takes: two models may use floating-point types of different sizes.
fn fitted(inputs: &[Tensor], graph: &Graph) -> Vec<Tensor> {
    let fitted = |(slot, tensor): (usize, &Tensor)| {
        let wanted = graph.inputs.get(slot).and_then(|&input| graph.value(input).dtype);
        wanted.and_then(|dtype| tensor.cast(dtype)).unwrap_or_else(|| tensor.clone())
    };
    inputs.iter().enumerate().map(fitted).collect()
}

/// The values that operators compute and no kernel of the plan does, because it fuses operators or executes a body as a part
/// of the operator around it.
fn hidden(graph: &Graph, plan: &dyn Plan, fidelity: Fidelity) -> HashSet<ValueId> {
    let kernels = plan.kernels();
    let shows_bodies =
        kernels.iter().any(|kernel| kernel.operator().is_some_and(|operator| graph.body_of(operator).is_some()));
    let inner = graph.inner_values.iter().filter(|_| !shows_bodies).map(|value| value.id);
    if fidelity == Fidelity::Exact {
        return inner.collect();
    }
    let shown: HashSet<ValueId> = kernels.iter().flat_map(|kernel| kernel.outputs.iter().flatten().copied()).collect();
    let given = graph.all_operators().flat_map(|operator| operator.outputs.iter().flatten().copied());
    given.filter(|value| !shown.contains(value)).chain(inner).collect()
}

/// The operators and slots of values, to be left out of a selection.
fn blacklist(graph: &Graph, values: &HashSet<ValueId>) -> Vec<BlacklistEntry> {
    let entry = |operator: &Operator| {
        let outputs = operator.outputs.iter().enumerate();
        let positions: Vec<Position> = outputs
            .filter(|(_, value)| value.is_some_and(|value| values.contains(&value)))
            .map(|(slot, _)| Position { io: Io::Output, slot })
            .collect();
        (!positions.is_empty()).then(|| BlacklistEntry { name: operator.name.clone(), positions })
    };
    graph.all_operators().filter_map(entry).collect()
}
