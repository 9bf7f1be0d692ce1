//! The tracer: emits the records of runs into the contexts of the process.
//!
//! The process-wide numbers of plans, and the names of the plans.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use opscope_clock::Ticks;
use opscope_model::{Capabilities, Fidelity, Instrument, Kernel, NoObserver, RunInfo, RunObserver};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{
    DispatchRecord, ForkRoom, HeldLocks, Kind, PathLevel, PlanId, Record, RunOperation, current_correlation, emit,
    emit_with_path, wanted,
};

use crate::KernelNames;
use crate::recording::Call;
use crate::run::{Destination, RecordedRun, WantedKinds, engine_call};

/// The instrument that emits the records of runs into the buffers of all started contexts ([`opscope_trace::Context`]),
/// with or without a [`Profiler`](crate::Profiler). `opscope::Session` runs with it.
///
/// It checks which kinds of records are requested when a run begins. Runs have the numbers that their caller gave them,
/// so two sessions may use the same numbers, but the correlation ids differ. Plans are numbered process-wide.
/// [`plan_names`] returns the names of a plan and its kernels.
///
/// If no record of a run is requested, the cost is a relaxed load and a branch for each of five kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tracer;

/// The buffers of all started contexts.
struct StartedContexts;

impl Tracer {
    /// Returns the observer of a run, or `None` if no started context requests a record of it.
    pub fn observe_if_wanted(self, run: &RunInfo<'_>) -> Option<Box<dyn RunObserver>> {
        let wanted = wanted_kinds();
        if wanted == WantedKinds::default() {
            return None;
        }
        let has_plan = wanted.runs || wanted.dispatches;
        let plan = if has_plan { number(run) } else { PlanId::default() };
        Some(Box::new(RecordedRun::new(StartedContexts, wanted, run.id, plan, RunOperation::Measured.into())))
    }

    /// Emits a call of the engine that loaded a model or made a plan. The calls of a run are emitted by its observer.
    pub fn called(self, call: Call, start: Ticks, end: Ticks, failed: bool) {
        if wanted(Kind::EngineCall) {
            StartedContexts.emit(&engine_call(call, None, current_correlation(), (start, end), failed));
        }
    }
}

impl Instrument for Tracer {
    fn name(&self) -> &str {
        "tracer"
    }

    fn requires(&self) -> Capabilities {
        let wanted = wanted_kinds();
        Capabilities { times: wanted.dispatches, memory: wanted.tensor_memory, ..Capabilities::default() }
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        match self.observe_if_wanted(run) {
            Some(observer) => observer,
            None => Box::new(NoObserver),
        }
    }
}

impl Destination for StartedContexts {
    #[inline]
    fn emit<R: Record>(&self, record: &R) {
        // The buffer counts a record that it could not take, so the error can be ignored.
        let _ = emit(record);
    }

    fn emit_with_path(&self, record: &DispatchRecord, path: impl ExactSizeIterator<Item = PathLevel>) {
        let _ = emit_with_path(record, path);
    }

    /// Such dispatches have no records, so no buffer counts them.
    fn lose(&self, _dispatches: u64) {}
}

fn wanted_kinds() -> WantedKinds {
    WantedKinds {
        runs: wanted(Kind::Run),
        dispatches: wanted(Kind::OperatorDispatch),
        copies: wanted(Kind::TensorCopy),
        calls: wanted(Kind::EngineCall),
        tensor_memory: wanted(Kind::TensorAllocation),
    }
}

/// The maximum number of kernels of dropped plans whose names are kept, because a callback may get their records later.
/// A kernel's names take some hundred bytes.
const KEPT_KERNELS: usize = 1 << 16;

/// The names that the records of a plan refer to by number.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanNames {
    /// The plan.
    pub plan: PlanId,
    /// The model's file, as the user gave it.
    pub model: PathBuf,
    /// The graph's own name in the file.
    pub graph: String,
    /// How faithfully the plan follows the file.
    pub fidelity: Fidelity,
    /// The kernels, by [`KernelIndex`](opscope_trace::KernelIndex).
    pub kernels: Vec<KernelNames>,
    /// The names of the graph's operators, by the position in [`PathLevel`](opscope_trace::PathLevel).
    pub operators: Vec<String>,
}

/// Returns the names of a plan whose records were emitted through contexts, or `None` if there is no such plan or its
/// names are no longer kept.
///
/// Names are kept as long as the plan, and longer for the plans that were dropped last, with up to 65,536 kernels in
/// total. They hold no graph and no plan, so a dropped model is freed. (The array of a plan's kernels, without its
/// contents, is freed when the next new plan runs.)
pub fn plan_names(plan: PlanId) -> Option<Arc<PlanNames>> {
    plans().known.get(&plan).map(|known| Arc::clone(&known.names))
}

/// Returns the number of a run's plan. Stores the names if the plan is new.
fn number(run: &RunInfo<'_>) -> PlanId {
    plans().number(run)
}

/// The plans that have been seen.
struct Plans {
    known: BTreeMap<PlanId, Known>,
    /// The numbers of the plans by their addresses.
    numbers: BTreeMap<usize, PlanId>,
    /// The number of plans that have been seen so far.
    met: u64,
}

struct Known {
    /// The plan, unless it is known to be dropped. While this reference exists, no other plan gets its address.
    kernels: Option<Weak<[Kernel]>>,
    names: Arc<PlanNames>,
}

static PLANS: Mutex<Plans> = Mutex::new(Plans::new());

fn plans() -> MutexGuard<'static, Plans> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldPlans(lock())));
    // If there is no memory for the registration, only a fork during a call here is unsafe.
    let _ = ROOM.register();
    lock()
}

fn lock() -> MutexGuard<'static, Plans> {
    PLANS.lock()
}

/// The lock during a fork: the child has no other thread that could release it.
struct HeldPlans(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, Plans>);

impl HeldLocks for HeldPlans {
    fn reset_in_child(self: Box<Self>) {}
}

impl Plans {
    const fn new() -> Self {
        Self { known: BTreeMap::new(), numbers: BTreeMap::new(), met: 0 }
    }

    fn number(&mut self, run: &RunInfo<'_>) -> PlanId {
        let address = run.kernels.as_ptr().addr();
        if let Some(&number) = self.numbers.get(&address) {
            return number;
        }
        self.forget_dropped();
        self.met += 1;
        let plan = PlanId(self.met);
        let kernels = Some(Arc::downgrade(run.kernels));
        self.known.insert(plan, Known { kernels, names: Arc::new(PlanNames::of(plan, run)) });
        self.numbers.insert(address, plan);
        plan
    }

    /// Releases the memory of dropped plans, and the names of the oldest ones if there are too many.
    fn forget_dropped(&mut self) {
        let mut kept = 0;
        for known in self.known.values_mut() {
            known.kernels = known.kernels.take().filter(|kernels| kernels.strong_count() > 0);
            kept += known.kept_kernels();
        }
        self.numbers.retain(|_, plan| self.known[plan].kernels.is_some());
        self.known.retain(|_, known| {
            let is_surplus = known.kernels.is_none() && kept > KEPT_KERNELS;
            kept -= if is_surplus { known.kept_kernels() } else { 0 };
            !is_surplus
        });
    }
}

impl Known {
    /// Returns how many kernels of dropped plans this plan accounts for.
    fn kept_kernels(&self) -> usize {
        if self.kernels.is_some() { 0 } else { self.names.kernels.len().max(1) }
    }
}

impl PlanNames {
    fn of(plan: PlanId, run: &RunInfo<'_>) -> Self {
        let graph = run.graph;
        let kernel = |(index, kernel)| KernelNames::of(plan.0 as usize, index, kernel, graph);
        Self {
            plan,
            model: graph.source.path.clone(),
            graph: graph.name.clone(),
            fidelity: run.fidelity,
            kernels: run.kernels.iter().enumerate().map(kernel).collect(),
            operators: graph.all_operators().map(|operator| operator.name.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::RunId;
    use opscope_model::testing::{GraphBuilder, kernels};
    use opscope_onnx::Graph;

    use super::*;

    fn graph() -> Arc<Graph> {
        let builder = GraphBuilder::new("small").input("x", &[1]);
        Arc::new(builder.operator("a", "Relu", &["x"], &["b"]).operator("c", "Exp", &["b"], &["y"]).build())
    }

    fn info<'a>(graph: &'a Arc<Graph>, kernels: &'a Arc<[Kernel]>) -> RunInfo<'a> {
        RunInfo { id: RunId(0), graph, kernels, fidelity: Fidelity::Optimised }
    }

    fn with_kernels(graph: &Graph, count: usize) -> Arc<[Kernel]> {
        kernels(graph, &vec![&["a", "c"][..]; count])
    }

    #[test]
    fn a_plan_keeps_its_number_and_is_named_without_its_graph() {
        let (mut plans, graph) = (Plans::new(), graph());
        let (one, other) = (with_kernels(&graph, 1), with_kernels(&graph, 1));
        let numbers = [&one, &other, &one].map(|kernels| plans.number(&info(&graph, kernels)));
        assert_eq!(numbers, [PlanId(1), PlanId(2), PlanId(1)], "0 is none");
        let names = &plans.known[&PlanId(2)].names;
        assert_eq!((names.model.to_str(), names.graph.as_str()), (Some("small.onnx"), "small"));
        assert_eq!(names.operators, ["a", "c"]);
        let kernel = &names.kernels[0];
        assert_eq!(
            (kernel.operator.as_str(), kernel.op_type.as_str(), kernel.name.as_str()),
            ("a", "Relu", "kernel 0")
        );
        assert_eq!((kernel.plan, kernel.index, kernel.fused[0].name.as_str()), (2, 0, "c"));
        assert_eq!((Arc::strong_count(&graph), Arc::strong_count(&other)), (1, 1));
    }

    #[test]
    fn plans_at_the_same_address_have_different_numbers() {
        let (mut plans, graph) = (Plans::new(), graph());
        let mut addresses = std::collections::BTreeSet::new();
        for number in 1..=1_000 {
            let kernels = with_kernels(&graph, 3);
            addresses.insert(kernels.as_ptr().addr());
            assert_eq!(plans.number(&info(&graph, &kernels)), PlanId(number));
        }
        assert!(addresses.len() < 1_000, "the allocator has used addresses again");
        assert_eq!(plans.numbers.len(), 1, "nothing is left of plans that were dropped but their names");
    }

    #[test]
    fn names_of_dropped_plans_are_kept_up_to_a_limit_and_those_of_others_always() {
        let (mut plans, graph) = (Plans::new(), graph());
        let kept = with_kernels(&graph, 5);
        let of_kept = plans.number(&info(&graph, &kept));
        // Three plans of this size have more kernels than are kept.
        let large = KEPT_KERNELS / 2 - 1;
        let dropped = [large, large, 1, 1, 1].map(|count| plans.number(&info(&graph, &with_kernels(&graph, count))));
        // All five plans are dropped before the next one runs.
        let last = with_kernels(&graph, 1);
        let of_last = plans.number(&info(&graph, &last));
        let left: Vec<_> = plans.known.keys().copied().collect();
        let expected = [&[of_kept], &dropped[1..], &[of_last]].concat();
        assert_eq!(left, expected, "the oldest goes first");
    }
}
