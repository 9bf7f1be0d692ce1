//! The memory that a run needs for tensors, and its reports of it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use opscope_clock::Ticks;
use opscope_model::{Fidelity, Interest, KernelSet, Plan, RunId, RunMemory, RunObserver, TensorMemory};
use opscope_tensor::Tensor;
use tract_onnx::pb::tensor_proto::DataType::Float;

use crate::builder::{Builder, D, int};
use crate::files::{FIDELITIES, MODELS, load, planned};

const FOUR: &[f32] = &[-1.0, 0.0, 1.0, 2.0];

/// Returns what runs of a graph with four numbers need at exact fidelity, and the operator that needs the most.
fn needed(builder: Builder) -> (RunMemory, Option<String>) {
    let graph = builder.graph();
    let model = load(&graph, Fidelity::Exact).unwrap();
    let plan = model.plan(&[Tensor::from_f32(vec![4], FOUR).unwrap()]).unwrap();
    let memory = plan.memory();
    let name = |kernel: opscope_model::KernelId| {
        graph.operator(plan.kernels()[kernel.index()].operator().unwrap()).name.clone()
    };
    (memory, memory.at.map(name))
}

#[test]
fn a_value_counts_from_the_operator_that_gives_it_to_the_last_that_takes_it() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node_with("widen", "Concat", &["x", "x", "x", "x"], &["wide"], vec![int("axis", 0)])
        .node("negate", "Neg", &["wide"], &["negative"])
        .node("cut", "Relu", &["negative"], &["positive"])
        .node("add", "Add", &["wide", "positive"], &["y"])
        .output("y");
    let (memory, at) = needed(builder);
    // While `cut` is executed: x with 16 bytes, and wide, negative and positive with 64 each. Then negative is
    // forgotten, so `add` needs no more.
    assert_eq!((memory.peak, memory.unknown, at.as_deref()), (16 + 3 * 64, 0, Some("cut")));
}

#[test]
fn an_output_of_the_model_counts_to_the_end_although_nothing_takes_it() {
    let chain = |early: bool| {
        let builder = Builder::default()
            .input("x", Float, &[D::N(4)])
            .node("first", "Neg", &["x"], &["a"])
            .node("second", "Relu", &["a"], &["b"])
            .node("third", "Neg", &["b"], &["y"])
            .output("y");
        if early { builder.output("a") } else { builder }
    };
    assert_eq!(needed(chain(false)).0.peak, 3 * 16, "x, and what an operator takes and gives");
    assert_eq!(needed(chain(true)).0.peak, 4 * 16, "and a, which is given back at the end");
}

#[test]
fn what_is_as_large_as_the_data_says_is_told_as_unknown() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node("find", "NonZero", &["x"], &["places"])
        .node("double", "Add", &["places", "places"], &["y"])
        .output("y");
    let (memory, at) = needed(builder);
    assert_eq!((memory.peak, memory.unknown, at), (16, 2, None));
}

#[test]
fn the_plans_of_real_models_are_known_to_the_last_tensor() {
    for model in ["digits_cnn", "tiny_transformer", "token_classifier"] {
        for fidelity in FIDELITIES {
            let (_, inputs, plan) = planned(model, fidelity);
            let memory = plan.memory();
            let given: usize = inputs.iter().map(|input| input.bytes().len()).sum();
            assert_eq!(memory.unknown, 0, "{model}, {fidelity}");
            assert!(memory.peak > given as u64 && memory.at.is_some(), "{model}, {fidelity}: {memory:?}");
        }
    }
}

/// Records what a run holds for tensors that kernels computed, and checks each report.
struct Witness {
    interest: Interest,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    held: BTreeMap<u64, u64>,
    sum: u64,
    peak: u64,
    allocations: usize,
    last: Option<Ticks>,
}

impl Seen {
    fn at(&mut self, time: Ticks) {
        assert!(self.last.is_none_or(|last| last <= time), "reports come in the order of their times");
        self.last = Some(time);
    }
}

impl RunObserver for Witness {
    fn interest(&self) -> Interest {
        self.interest.clone()
    }

    fn allocated(&self, memory: TensorMemory, at: Ticks) {
        let mut seen = self.seen.lock().unwrap();
        seen.at(at);
        assert!(memory.bytes > 0, "{memory:?}");
        assert_eq!(seen.held.insert(memory.address, memory.bytes), None, "{memory:?} is held already");
        seen.sum += memory.bytes;
        seen.peak = seen.peak.max(seen.sum);
        seen.allocations += 1;
    }

    fn freed(&self, memory: TensorMemory, at: Ticks) {
        let mut seen = self.seen.lock().unwrap();
        seen.at(at);
        assert_eq!(seen.held.remove(&memory.address), Some(memory.bytes), "{memory:?} is not held");
        seen.sum -= memory.bytes;
    }
}

/// Runs once and returns what was reported, after checking that only the outputs are still held.
fn reported(plan: &dyn Plan, inputs: &[Tensor], interest: Interest) -> Seen {
    let witness = Witness { interest: Interest { memory: true, ..interest }, seen: Mutex::default() };
    let given = plan.upload(inputs).unwrap();
    let outputs = plan.run(RunId(0), &*given, &witness).unwrap();
    let seen = witness.seen.into_inner().unwrap();
    let mut of_outputs: BTreeMap<u64, u64> = BTreeMap::new();
    for view in (0..outputs.len()).map(|slot| outputs.view(slot)) {
        let bytes = view.bytes().unwrap_or_default();
        if !bytes.is_empty() {
            of_outputs.insert(bytes.as_ptr().addr() as u64, bytes.len() as u64);
        }
    }
    assert_eq!(seen.held, of_outputs, "at the end the outputs are held, and nothing else");
    seen
}

#[test]
fn what_a_run_reports_is_what_it_holds_and_stays_within_what_its_plan_needs() {
    for model in MODELS {
        for fidelity in FIDELITIES {
            let (_, inputs, plan) = planned(model, fidelity);
            let given: u64 = inputs.iter().map(|input| input.bytes().len() as u64).sum();
            let interests = [
                Interest::default(),
                Interest { times: true, ..Interest::default() },
                Interest { after: KernelSet::All, ..Interest::default() },
                Interest { before: KernelSet::Mask([false, false, true].into()), ..Interest::default() },
            ];
            for interest in interests {
                let seen = reported(&*plan, &inputs, interest);
                assert!(seen.allocations > 0, "{model}, {fidelity}");
                assert!(given + seen.peak <= plan.memory().peak, "{model}, {fidelity}: {seen:?}");
            }
        }
    }
}

#[test]
fn a_run_that_cannot_compute_in_place_holds_at_most_what_its_plan_needs() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node_with("first", "Concat", &["x", "x"], &["a"], vec![int("axis", 0)])
        .node_with("second", "Concat", &["a", "a"], &["b"], vec![int("axis", 0)])
        .node_with("third", "Concat", &["b", "b"], &["y"], vec![int("axis", 0)])
        .output("y");
    let model = load(&builder.graph(), Fidelity::Exact).unwrap();
    let inputs = [Tensor::from_f32(vec![4], FOUR).unwrap()];
    let plan = model.plan(&inputs).unwrap();
    let seen = reported(&*plan, &inputs, Interest::default());
    assert_eq!((seen.peak, seen.allocations), (64 + 128, 3));
    assert_eq!(plan.memory().peak, 16 + 64 + 128);
}

#[test]
fn tensors_whose_sizes_the_run_decides_are_reported() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node("find", "NonZero", &["x"], &["places"])
        .node_with("twice", "Concat", &["places", "places"], &["y"], vec![int("axis", 1)])
        .output("y");
    let model = load(&builder.graph(), Fidelity::Exact).unwrap();
    let inputs = [Tensor::from_f32(vec![4], FOUR).unwrap()];
    let seen = reported(&*model.plan(&inputs).unwrap(), &inputs, Interest::default());
    // Three of the four numbers are not zero.
    assert_eq!((seen.peak, seen.allocations), (3 * 8 + 6 * 8, 2));
}

#[test]
fn a_kernel_that_computes_in_place_allocates_nothing() {
    let builder = Builder::default()
        .input("x", Float, &[D::N(4)])
        .node("first", "Neg", &["x"], &["a"])
        .node("second", "Neg", &["a"], &["b"])
        .node("third", "Neg", &["b"], &["y"])
        .output("y");
    let model = load(&builder.graph(), Fidelity::Exact).unwrap();
    let inputs = [Tensor::from_f32(vec![4], FOUR).unwrap()];
    let seen = reported(&*model.plan(&inputs).unwrap(), &inputs, Interest::default());
    // The first one may not write into the model's input.
    assert_eq!((seen.peak, seen.allocations), (16, 1));
}
