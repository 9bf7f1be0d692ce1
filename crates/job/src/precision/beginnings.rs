//! Where a trial begins: at the last place before the first operator that does something else than in the trial before.
//!
//! At a few places of a plan, the outputs that are needed behind them are kept from the latest run. The next run takes
//! them, and executes nothing of what stands before.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use opscope_model::{Kernel, Plan, TensorType};
use opscope_onnx::{Graph, OperatorId, Producer, ValueId};
use opscope_sys::Mutex;
use opscope_tensor::{Tensor, TensorView};

/// The most places in a plan.
const MOST: usize = 8;

/// The places at which runs of a plan can begin, and what is kept for them.
#[derive(Default)]
pub(super) struct Beginnings {
    /// In order.
    places: Vec<Place>,
    latest: Mutex<Option<Latest>>,
}

/// The kernel that a run begins with.
#[derive(Debug)]
struct Place {
    kernel: usize,
    /// The kernels before it whose outputs are needed.
    needed: BTreeSet<usize>,
    /// The share of a run's time that is before it.
    share: f64,
}

/// What is kept of the latest run.
struct Latest {
    /// The operators that stayed in float32.
    kept: HashSet<OperatorId>,
    outputs: HashMap<usize, Vec<Tensor>>,
}

/// A run that begins at one of the places.
pub(super) struct Start<'a> {
    of: &'a Beginnings,
    /// The kernel that it begins with.
    pub first: usize,
    /// The share of a whole run's time that it takes.
    pub share: f64,
    /// What it takes from the run before.
    taken: HashMap<usize, Vec<Tensor>>,
    /// What it leaves for the next one.
    left: Mutex<HashMap<usize, Vec<Tensor>>>,
}

impl Beginnings {
    /// Finds places in a plan, of which `time` is that of each operator. What is kept has at most this many bytes.
    pub fn of(plan: &dyn Plan, graph: &Graph, time: impl Fn(OperatorId) -> u64, most_bytes: usize) -> Self {
        let kernels = plan.kernels();
        let in_main: HashSet<OperatorId> = graph.operators.iter().map(|operator| operator.id).collect();
        if !kernels.iter().filter_map(Kernel::operator).all(|id| in_main.contains(&id)) {
            // The kernels of a body are executed more than once.
            return Self::default();
        }
        let mut counted = HashSet::new();
        let times: Vec<u64> =
            kernels.iter().map(|kernel| kernel.operator().filter(|id| counted.insert(*id)).map_or(0, &time)).collect();
        let total = times.iter().sum::<u64>().max(1) as f64;
        let values = Values::of(kernels, graph);
        let mut places: Vec<Place> = Vec::new();
        let mut all: BTreeSet<usize> = BTreeSet::new();
        let (mut before, mut next) = (0, 1);
        for (kernel, time) in times.iter().enumerate() {
            let share = before as f64 / total;
            let part = (share * (MOST + 1) as f64) as usize;
            before += time;
            if part < next || part > MOST {
                continue;
            }
            let Some(needed) = values.needed(kernels, kernel) else { continue };
            let with: BTreeSet<usize> = all.union(&needed).copied().collect();
            let bytes = with.iter().flat_map(|kernel| &kernels[*kernel].output_types).filter_map(bytes_of);
            if bytes.sum::<usize>() <= most_bytes {
                all = with;
                places.push(Place { kernel, needed, share });
                next = part + 1;
            }
        }
        Self { places, latest: Mutex::new(None) }
    }

    /// Returns where a run with these operators in float32 can begin. `can_change` says of which kernels the result depends
    /// on that. What it may take from the run before is its own from then on: a run that fails leaves nothing.
    pub fn start(
        &self,
        kernels: &[Kernel],
        kept: &HashSet<OperatorId>,
        can_change: impl Fn(&Kernel) -> bool,
    ) -> Start<'_> {
        let latest = self.latest.lock().take();
        let place = latest.as_ref().and_then(|latest| {
            let is_changed = |kernel: &Kernel| {
                can_change(kernel)
                    && kernel.operator().is_some_and(|id| kept.contains(&id) != latest.kept.contains(&id))
            };
            let changed = kernels.iter().position(is_changed).unwrap_or(kernels.len());
            let is_there = |place: &&Place| {
                place.kernel <= changed && place.needed.iter().all(|kernel| latest.outputs.contains_key(kernel))
            };
            self.places.iter().rev().find(is_there)
        });
        let (first, share) = place.map_or((0, 1.0), |place| (place.kernel, 1.0 - place.share));
        let mut taken = latest.map(|latest| latest.outputs).unwrap_or_default();
        taken.retain(|kernel, _| *kernel < first);
        Start { of: self, first, share, taken, left: Mutex::default() }
    }
}

impl Start<'_> {
    /// Returns the outputs of a kernel that is not executed. Nothing reads those that were not kept.
    pub fn outputs(&self, kernel: &Kernel) -> Option<Vec<Tensor>> {
        if kernel.id.index() >= self.first {
            return None;
        }
        match self.taken.get(&kernel.id.index()) {
            Some(outputs) => Some(outputs.clone()),
            None => kernel.output_types.iter().map(zeros).collect(),
        }
    }

    /// Keeps the outputs of a kernel for the next run, if it may need them.
    pub fn keep(&self, kernel: &Kernel, outputs: impl FnOnce() -> Option<Vec<Tensor>>) {
        if kernel.id.index() >= self.first
            && self.watches(kernel)
            && let Some(outputs) = outputs()
        {
            self.left.lock().insert(kernel.id.index(), outputs);
        }
    }

    /// Returns whether the outputs of a kernel are asked for, or may be kept.
    pub fn watches(&self, kernel: &Kernel) -> bool {
        let kernel = kernel.id.index();
        kernel < self.first || self.of.places.iter().any(|place| place.needed.contains(&kernel))
    }

    /// Leaves what was kept for the next run.
    pub fn end(self, kept: &HashSet<OperatorId>) {
        let mut outputs = self.taken;
        outputs.extend(self.left.into_inner());
        *self.of.latest.lock() = Some(Latest { kept: kept.clone(), outputs });
    }
}

/// Copies tensors; `None` if one of them has no byte form.
pub(super) fn copies(tensors: &[TensorView<'_>]) -> Option<Vec<Tensor>> {
    tensors.iter().map(|tensor| tensor.to_tensor().ok()).collect()
}

/// Which kernels compute the values of a graph.
struct Values<'g> {
    graph: &'g Graph,
    computed: HashMap<ValueId, Vec<usize>>,
    /// By operator, the first of its kernels.
    first: HashMap<OperatorId, usize>,
}

impl<'g> Values<'g> {
    fn of(kernels: &[Kernel], graph: &'g Graph) -> Self {
        let mut computed: HashMap<ValueId, Vec<usize>> = HashMap::new();
        let mut first = HashMap::new();
        for (place, kernel) in kernels.iter().enumerate() {
            for value in kernel.outputs.iter().flatten() {
                computed.entry(*value).or_default().push(place);
            }
            if let Some(operator) = kernel.operator() {
                first.entry(operator).or_insert(place);
            }
        }
        Self { graph, computed, first }
    }

    /// Returns the kernels before a place whose outputs are needed by those that are executed: the ones behind it, and
    /// those of the engine, which cannot be skipped. `None` if that is not known, or a kernel before it has an output that
    /// cannot be given.
    fn needed(&self, kernels: &[Kernel], place: usize) -> Option<BTreeSet<usize>> {
        let is_skipped = |kernel: usize| kernel < place && kernels[kernel].operator().is_some();
        if (0..place).any(|kernel| {
            is_skipped(kernel) && !kernels[kernel].output_types.iter().all(|output| bytes_of(output).is_some())
        }) {
            return None;
        }
        let mut needed = BTreeSet::new();
        let mut take = |value: ValueId| {
            let computed = self.computed.get(&value);
            needed.extend(computed.into_iter().flatten().filter(|kernel| is_skipped(**kernel)));
            computed.is_some()
        };
        for kernel in (0..kernels.len()).filter(|kernel| !is_skipped(*kernel)) {
            // What an operator passes from one of its kernels to another has no name.
            let is_whole = kernels[kernel].operator().is_some_and(|id| self.first[&id] >= place);
            for input in kernels[kernel].inputs.iter().filter(|input| !input.constant) {
                let is_known = match input.value {
                    Some(value) => take(value) || self.graph.inputs.contains(&value),
                    None => is_whole,
                };
                if !is_known {
                    return None;
                }
            }
        }
        let is_stored = |value| !matches!(self.graph.value(value).producer, Producer::Operator(..));
        self.graph.outputs.iter().all(|value| take(*value) || is_stored(*value)).then_some(needed)
    }
}

/// Returns the number of bytes of an output; `None` if it has no byte form, or is known only in a run.
fn bytes_of(output: &TensorType) -> Option<usize> {
    output.dtype?.bytes_of(output.shape.iter().product())
}

fn zeros(output: &TensorType) -> Option<Tensor> {
    let bytes = vec![0; bytes_of(output)?];
    Tensor::from_owner(output.dtype?, output.shape.clone(), Arc::new(bytes)).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use opscope::Session;
    use opscope::engine::EngineSpec;
    use opscope_model::{Fidelity, LoadOptions, RunId};
    use opscope_onnx::{Lowering, ValueTypes};
    use opscope_tensor::DType;

    use super::super::limits::run;
    use super::super::lowered_run::{LoweredRun, RoundedSlots};
    use super::*;
    use crate::inputs::{Data, ShapeSpec, concrete_shapes, generate};

    /// A model with random inputs, whose operators all take the same time.
    struct Model {
        plan: Arc<dyn Plan>,
        graph: Arc<Graph>,
        inputs: Vec<Tensor>,
    }

    fn model(name: &str) -> Model {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
        let graph = Arc::new(Graph::load(&path).unwrap());
        let shapes = concrete_shapes(&graph, &ShapeSpec::Smallest).unwrap();
        let inputs = generate(&graph, &shapes, Data::Random(7)).unwrap();
        let engine = EngineSpec::default().open().unwrap();
        let session = Session::with_engine(
            engine,
            Arc::clone(&graph),
            &LoadOptions::new(Fidelity::Exact, std::num::NonZeroUsize::MIN),
        );
        let plan = session.unwrap().plan(&inputs).unwrap();
        Model { plan, graph, inputs }
    }

    impl Model {
        fn beginnings(&self, most_bytes: usize) -> Beginnings {
            Beginnings::of(&*self.plan, &self.graph, |_| 1, most_bytes)
        }

        /// Runs the model with every operator in fp16 but these. Returns the outputs and the share that was executed.
        fn run(&self, beginnings: &Beginnings, kept: &HashSet<OperatorId>) -> (Vec<Vec<u8>>, f64) {
            let types = ValueTypes::infer(&self.graph, Vec::new());
            let lowering = Lowering::new(&self.graph, DType::F16, &types);
            let candidates = self.candidates(&lowering);
            let slots = RoundedSlots::of(&*self.plan, &lowering, &candidates.into_iter().collect(), true);
            let kernels = self.plan.kernels();
            let start = beginnings.start(kernels, kept, |kernel| slots[kernel.id.index()].is_some());
            let lowered = LoweredRun { slots: &slots, lowering: &lowering, kept, kernels, start: &start };
            let outputs = run(&*self.plan, RunId(0), &self.inputs, lowered).unwrap();
            let share = start.share;
            start.end(kept);
            (outputs.iter().map(|output| output.bytes().to_vec()).collect(), share)
        }

        fn candidates(&self, lowering: &Lowering<'_>) -> Vec<OperatorId> {
            lowering.candidates().map(|operator| operator.id).collect()
        }

        fn all(&self) -> Vec<OperatorId> {
            let types = ValueTypes::infer(&self.graph, Vec::new());
            self.candidates(&Lowering::new(&self.graph, DType::F16, &types))
        }
    }

    #[test]
    fn a_run_that_begins_later_computes_what_a_whole_run_does() {
        for name in ["tiny_transformer.onnx", "digits_cnn.onnx", "precision/rms_norm.onnx", "token_classifier.onnx"] {
            let model = model(name);
            let beginnings = model.beginnings(1 << 20);
            let all = model.all();
            let mut random = fastrand::Rng::with_seed(11);
            let mut kept: HashSet<OperatorId> = HashSet::new();
            let (mut executed, runs) = (0.0, 60);
            for _ in 0..runs {
                let (outputs, share) = model.run(&beginnings, &kept);
                assert_eq!(outputs, model.run(&Beginnings::default(), &kept).0, "{name}: {kept:?}");
                executed += share;
                // Mostly one operator changes, as in a search that halves what is left.
                for _ in 0..random.usize(1..3) {
                    let changed = all[random.usize(0..all.len())];
                    if !kept.remove(&changed) {
                        kept.insert(changed);
                    }
                }
            }
            assert!(executed < 0.85 * f64::from(runs), "{name}: {executed} of {runs} runs were executed");
        }
    }

    #[test]
    fn only_what_follows_the_operator_that_changed_is_executed() {
        let model = model("tiny_transformer.onnx");
        let all = model.all();
        let (first, last) = (all[0], all[all.len() - 1]);
        let beginnings = model.beginnings(1 << 20);
        let share = |kept: &[OperatorId]| model.run(&beginnings, &kept.iter().copied().collect()).1;
        assert_eq!(share(&[]), 1.0, "nothing is kept of an earlier run");
        assert!(share(&[last]) < 0.2);
        assert_eq!(share(&[first, last]), 1.0);
        assert!(share(&[first]) < 0.2);
        let without_room = model.beginnings(0);
        let share = |kept: &[OperatorId]| model.run(&without_room, &kept.iter().copied().collect()).1;
        assert_eq!([share(&[]), share(&[last])], [1.0, 1.0]);
    }
}
