//! Compares the tensors of two runs of a model, or of a run and a dump, while running: no dump is written. [`times`] compares
//! how long two runs took.

mod exported;
mod outputs;
pub mod times;

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use opscope::engine::EngineSpec;
use opscope::{Session, SessionError};
use opscope_dump::{
    BlacklistEntry, CompareOptions, CompareSink, Comparison, DumpError, Dumper, InputEntry, InputSets, Io, IoSelection,
    KeepSink, MatchBy, Position, Request, Selection, Sink, StoredDump, StoredOrigin,
};
use opscope_model::{EngineError, Fidelity, Instrument, LoadBudget, LoadOptions, Plan, RunId, RunInfo};
use opscope_onnx::{Graph, Operator, ValueId};
use opscope_tensor::Tensor;

pub use self::exported::{ProgramInputError, program_inputs};
use self::outputs::OutputsOnly;
use crate::inputs::{Batch, InputError, Inputs};
use crate::verify::with_known_values;

/// A model, and how it is run.
#[derive(Debug, Clone)]
pub struct RunSpec {
    /// The ONNX file.
    pub model: PathBuf,
    /// The graph, if it was read before; it is read from the file if `None`.
    pub graph: Option<Arc<Graph>>,
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
    /// A set of inputs cannot be read, or does not fit the model.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There are no inputs to run.
    #[error("there is no set of inputs to run")]
    NoInputs,
    /// A reference of one run, and several sets of inputs.
    #[error(
        "{reference:?} has the tensors of one run, and {sets} sets of inputs are given; give one set, or a dump that has a run \
         for each"
    )]
    OneSet {
        /// The reference.
        reference: PathBuf,
        /// How many sets were given.
        sets: usize,
    },
}

/// How many bytes of the reference's tensors are kept in memory; the rest is kept in an unnamed file.
const KEPT_IN_MEMORY: u64 = 128 << 20;

/// Runs a model with each set of inputs and compares every tensor with the reference's. The inputs were found for
/// `given`, a model with the same inputs. Only the tensors of one set are kept at a time. For each tensor, the worst
/// comparison is kept.
///
/// # Errors
/// Returns an error if a model cannot be loaded or run, a set of inputs cannot be read, the reference does not
/// distinguish runs and there are several sets, or there is no space for the tensors of the reference.
pub fn compare_runs(
    run: &RunSpec,
    reference: &Reference,
    inputs: &Inputs,
    given: &Graph,
    mut options: CompareOptions,
) -> Result<Comparison, CompareError> {
    if let Reference::Dump(dump) = reference
        && inputs.len() > 1
        && !dump.has_runs()
    {
        return Err(CompareError::OneSet { reference: dump.path.clone(), sets: inputs.len() });
    }
    if options.graph.is_none() {
        options.graph = Some(run.graph()?);
    }
    options.engines[0] = Some(run.engine.name.name().to_owned());
    if let (Reference::Dump(dump), Some(graph)) = (reference, &options.graph)
        && dump.is_program()
    {
        options.initializers = exported::stale_initializers(graph, dump).map_err(|error| run.not_loaded(error))?;
        options.same_inputs = true;
    }
    if let Reference::Run(reference) = reference {
        options.engines[1] = Some(reference.engine.name.name().to_owned());
        options.reference_graph = Some(reference.graph()?);
        options.same_inputs = true;
    }
    let mut compared = InputSets::default();
    let (mut ours, mut theirs) = (Runner::new(run), None);
    for set in 0..inputs.len() {
        let Batch { tensors, sources } = inputs.batch(given, set)?;
        let id = RunId(set as u64);
        let comparison = match reference {
            Reference::Dump(dump) if dump.is_program() && options.match_by == MatchBy::Name => {
                compare_with_program(&mut ours, id, dump, &tensors, &options)?
            }
            Reference::Dump(dump) => compare_with_dump(&mut ours, id, dump, &tensors, options.clone())?,
            Reference::Run(reference) => {
                let mut runner = theirs.take().unwrap_or_else(|| Runner::new(reference));
                let (kept, hidden) = runner.keep(id, &tensors)?;
                // One set needs one model in memory at a time.
                theirs = (set + 1 < inputs.len()).then_some(runner);
                compare_with_kept(&mut ours, id, kept, hidden, &tensors, options.clone())?
            }
        };
        let is_dump = matches!(reference, Reference::Dump(_));
        compared.add(sources.into_iter().flatten().collect(), comparison, is_dump);
    }
    compared.finish(options.graph.as_deref()).ok_or(CompareError::NoInputs)
}

/// Runs a model and compares it with a dump.
fn compare_with_dump(
    ours: &mut Runner<'_>,
    id: RunId,
    dump: &Arc<StoredDump>,
    inputs: &[Tensor],
    options: CompareOptions,
) -> Result<Comparison, CompareError> {
    // Inputs of operators are compared only if the dump has them.
    let has_inputs = dump.tensors.iter().any(|tensor| tensor.place.io == Some(Io::Input));
    let io = match ours.spec.fidelity == Fidelity::Exact && has_inputs {
        true => IoSelection::All,
        false => IoSelection::Outputs,
    };
    let (sink, comparer) = CompareSink::new(Arc::clone(dump), options);
    let ran = ours.run(id, inputs, Box::new(sink), io)?;
    Ok(with_fused(comparer.comparison(&ours.spec.label()), &HashSet::new(), &ran.hidden))
}

/// Runs a model that was exported from a program, and compares its values with the program's dump. All values are
/// needed to find out which ones belong together.
fn compare_with_program(
    ours: &mut Runner<'_>,
    id: RunId,
    dump: &StoredDump,
    inputs: &[Tensor],
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    let (kept, unseen) = ours.keep(id, inputs)?;
    let mut comparison = with_fused(Comparison::of(&kept, dump, options), &HashSet::new(), &unseen.hidden);
    comparison.problems.extend(unseen.missing);
    Ok(comparison)
}

/// Runs a model and compares it with the kept tensors of another run, which did not show the values `hidden`.
fn compare_with_kept(
    ours: &mut Runner<'_>,
    id: RunId,
    kept: StoredDump,
    hidden: Unseen,
    inputs: &[Tensor],
    options: CompareOptions,
) -> Result<Comparison, CompareError> {
    let (sink, comparer) = CompareSink::new(Arc::new(kept), options);
    let ran = ours.run(id, inputs, Box::new(sink), IoSelection::Outputs)?;
    let mut comparison = with_fused(comparer.comparison(&ours.spec.label()), &hidden.hidden, &ran.hidden);
    comparison.problems.extend(hidden.missing);
    Ok(comparison)
}

/// Moves the tensors that only one side has, because the plan of the other side does not show these values, to a list
/// of their own.
fn with_fused(mut comparison: Comparison, theirs: &HashSet<String>, ours: &HashSet<String>) -> Comparison {
    let is_in = |hidden: &HashSet<String>, place: &mut StoredOrigin| {
        place.value.as_ref().is_some_and(|name| hidden.contains(name))
    };
    let only_in_tensors = comparison.only_in_tensors.extract_if(.., |place| is_in(theirs, place));
    let only_in_reference = comparison.only_in_reference.extract_if(.., |place| is_in(ours, place));
    comparison.fused.extend(only_in_tensors.chain(only_in_reference));
    comparison
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

    fn graph(&self) -> Result<Arc<Graph>, CompareError> {
        match &self.graph {
            Some(graph) => Ok(Arc::clone(graph)),
            None => Graph::load(&self.model).map(Arc::new).map_err(|error| self.not_loaded(error)),
        }
    }
}

/// Runs a model with one set of inputs after the other. The model is loaded for the first set.
struct Runner<'s> {
    spec: &'s RunSpec,
    session: Option<Session>,
    /// The session of an optimised plan that names its values, and the shapes of the inputs that it was made for.
    known: Option<(Vec<Vec<usize>>, Session)>,
}

impl<'s> Runner<'s> {
    fn new(spec: &'s RunSpec) -> Self {
        Self { spec, session: None, known: None }
    }

    /// Returns the session for inputs, and the inputs in the types that the model takes.
    fn session(&mut self, inputs: &[Tensor]) -> Result<(&Session, Vec<Tensor>), CompareError> {
        let spec = self.spec;
        if self.session.is_none() {
            let options = LoadOptions { budget: spec.budget, ..LoadOptions::new(spec.fidelity, spec.threads) };
            let engine = spec.engine.open().map_err(|error| spec.not_loaded(error))?;
            let session = match &spec.graph {
                Some(graph) => Session::with_engine(engine, Arc::clone(graph), &options).map_err(SessionError::from),
                None => Session::open_with(engine, &spec.model, &options),
            };
            let session = session.map_err(|error| spec.not_loaded(error))?;
            self.session = Some(session);
        }
        let session = self.session.as_ref().expect("it was opened before");
        let inputs = fitted(inputs, session.graph());
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| input.shape().to_vec()).collect();
        let shows_values = session.engine().capabilities(spec.fidelity).intermediates;
        if shows_values
            && spec.fidelity == Fidelity::Optimised
            && self.known.as_ref().is_none_or(|(known, _)| *known != shapes)
        {
            self.known = with_known_values(session, &inputs).ok().map(|known| (shapes, known));
        }
        let session = self.known.as_ref().map_or(session, |(_, known)| known);
        Ok((session, inputs))
    }

    /// Runs and keeps every value that can be observed.
    fn keep(&mut self, id: RunId, inputs: &[Tensor]) -> Result<(StoredDump, Unseen), CompareError> {
        let (sink, keeper) = KeepSink::new(KEPT_IN_MEMORY, std::env::temp_dir());
        let unseen = self.run(id, inputs, Box::new(sink), IoSelection::Outputs)?;
        Ok((StoredDump { path: self.spec.label().into(), ..keeper.dump() }, unseen))
    }

    /// Runs once and writes every value that can be observed to a sink.
    fn run(
        &mut self,
        id: RunId,
        inputs: &[Tensor],
        sink: Box<dyn Sink>,
        io: IoSelection,
    ) -> Result<Unseen, CompareError> {
        let spec = self.spec;
        let failed = |source| CompareError::Engine { run: Box::new(spec.clone()), source };
        let (session, inputs) = self.session(inputs)?;
        let shows_values = session.engine().capabilities(spec.fidelity).intermediates;
        let mut plan = session.model().plan(&inputs).map_err(failed)?;
        if !shows_values {
            plan = Arc::new(OutputsOnly::of(plan, session.graph()));
        }
        let resident = plan.upload(&inputs).map_err(failed)?;
        let graph = session.graph();
        let hidden = hidden(graph, &*plan, spec.fidelity);
        let dumper = Dumper::new();
        let selection = Selection { io, name_blacklist: blacklist(graph, &hidden), ..Selection::default() };
        dumper.subscribe(sink, Request { selection, ..Request::default() })?;
        dumper.add_plan(&**session.model(), &*plan)?;
        dumper.set_inputs(id, InputEntry::of(graph, &inputs));
        let info = RunInfo { id, graph, kernels: plan.kernels(), fidelity: spec.fidelity };
        // If the engine shows no values, `plan` has kernels that consumers do not know, so they are not notified.
        let observer = if shows_values { session.observe(&info, &[&dumper]) } else { dumper.observe(&info) };
        let outcome = plan.run(id, &*resident, &*observer);
        drop(observer);
        let report = dumper.finish()?;
        outcome.map_err(failed)?;
        let missing = report.subscriptions.iter().flat_map(|subscription| subscription.losses.named());
        let missing =
            missing.map(|missing| format!("{}: {}: {}", spec.label(), missing.origin, missing.reason)).collect();
        let hidden = hidden.into_iter().map(|value| graph.value(value).name.clone()).collect();
        Ok(Unseen { hidden, missing })
    }
}

/// Returns the inputs, cast to the types that a model takes: two models may use floating-point types of different
/// sizes.
fn fitted(inputs: &[Tensor], graph: &Graph) -> Vec<Tensor> {
    let fitted = |(slot, tensor): (usize, &Tensor)| {
        let wanted = graph.inputs.get(slot).and_then(|&input| graph.value(input).dtype);
        wanted.and_then(|dtype| tensor.cast(dtype)).unwrap_or_else(|| tensor.clone())
    };
    inputs.iter().enumerate().map(fitted).collect()
}

/// Returns the values that operators compute but no kernel of the plan does, because the plan fuses operators or
/// executes a body as a part of the operator around it.
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

/// Returns the operators and slots of values, to exclude them from a selection.
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

#[cfg(test)]
mod tests {
    use opscope_model::testing::{FakePlan, GraphBuilder, kernels};

    use super::*;

    /// Returns the names of the values of `x -> a -> b` that plans of these kernels do not show. The operator of `b`
    /// has a body with a value.
    fn hidden_of(groups: &[&[&str]], fidelity: Fidelity) -> Vec<String> {
        let graph = GraphBuilder::new("body")
            .input("x", &[4])
            .operator("first", "Relu", &["x"], &["a"])
            .operator("choice", "If", &["a"], &["b"])
            .operator("last", "Neg", &["b"], &["y"])
            .output("y")
            .body("choice", "then_branch")
            .operator("inner", "Neg", &["a"], &["c"])
            .output("c");
        let graph = Arc::new(graph.build());
        let kernels = kernels(&graph, groups);
        let plan = FakePlan::new(&graph, kernels, fidelity, |_, inputs| Ok(inputs.to_vec()));
        let mut names: Vec<_> =
            hidden(&graph, &plan, fidelity).iter().map(|id| graph.value(*id).name.clone()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn values_of_fused_operators_and_of_bodies_that_no_kernel_computes_are_hidden() {
        let whole: &[&[&str]] = &[&["first"], &["choice"], &["last"]];
        let fused: &[&[&str]] = &[&["first", "choice"], &["last"]];
        let with_body: &[&[&str]] = &[&["first"], &["choice/inner"], &["choice"], &["last"]];
        assert_eq!(hidden_of(whole, Fidelity::Optimised), ["choice/c"]);
        assert_eq!(hidden_of(fused, Fidelity::Optimised), ["a", "choice/c"]);
        assert_eq!(hidden_of(with_body, Fidelity::Optimised), Vec::<String>::new());
        assert_eq!(hidden_of(whole, Fidelity::Exact), ["choice/c"]);
        assert_eq!(hidden_of(with_body, Fidelity::Exact), Vec::<String>::new());
    }

    #[test]
    fn a_plan_that_shows_outputs_alone_says_what_the_plan_within_says() {
        let graph = GraphBuilder::new("two").input("x", &[4]).operator("first", "Relu", &["x"], &["a"]);
        let graph = Arc::new(graph.operator("last", "Neg", &["a"], &["y"]).output("y").build());
        let kernels = kernels(&graph, &[&["first"], &["last"]]);
        let plan = FakePlan::new(&graph, kernels, Fidelity::Optimised, |_, inputs| Ok(inputs.to_vec()));
        let plan: Arc<dyn Plan> = Arc::new(plan);
        let outputs = OutputsOnly::of(Arc::clone(&plan), &graph);
        assert_eq!(outputs.notes(), plan.notes());
        assert_eq!(outputs.made(), plan.made());
        let names: Vec<_> = outputs.kernels().iter().map(|kernel| (&*kernel.name, &*kernel.op)).collect();
        assert_eq!(names, [("last", "Neg")]);
        assert_eq!(outputs.kernels()[0].outputs, [vec![graph.outputs[0]]]);
    }
}
