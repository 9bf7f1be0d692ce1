//! What the benchmarks of a run share: where models are, how two ways to do a thing are compared, how a result is said.
#![allow(dead_code, reason = "each benchmark uses a part")]

pub mod around;

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use opscope::benchmark::median_interval;
use opscope::inputs::{Data, ShapeSpec, concrete_shapes, generate};
use opscope::machine::{forget_peak_memory, peak_memory};
use opscope::model::{DeviceTensors, Fidelity, Plan};
use opscope::tensor::Tensor;
use opscope::{Session, onnx};
use opscope_clock::{Calibration, ClockPair, Ticks};

/// One line of a benchmark's result.
pub struct Case {
    /// The benchmark.
    pub bench: &'static str,
    /// What was measured.
    pub case: String,
    /// The result, and the ends of its 95 % confidence interval where there is one.
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    pub unit: &'static str,
    /// What it is compared with, and that one's own result.
    pub peer: String,
    pub peer_value: f64,
    /// What the machine allows, where that is known.
    pub floor: Option<f64>,
    /// The goal, as text, and whether it is reached.
    pub goal: String,
    pub met: bool,
}

impl Case {
    /// Prints the case: as a JSON line with `--json`, else as a line of text.
    pub fn print(&self) {
        if std::env::args().any(|argument| argument == "--json") {
            let number = |value: f64| serde_json::Number::from_f64(value).map_or(serde_json::Value::Null, Into::into);
            let line = serde_json::json!({
                "bench": self.bench, "case": self.case, "value": number(self.value), "unit": self.unit,
                "interval": self.interval.map(|(low, high)| [number(low), number(high)]),
                "peer": self.peer, "peer_value": number(self.peer_value), "floor": self.floor.map(number),
                "goal": self.goal, "met": self.met,
            });
            println!("{line}");
            return;
        }
        let mut text = format!("{:<10} {:<44} {:>10.4} {}", self.bench, self.case, self.value, self.unit);
        if let Some((low, high)) = self.interval {
            let _ = write!(text, " [{low:.4}, {high:.4}]");
        }
        let _ = write!(text, "; {} {:.4}", self.peer, self.peer_value);
        if let Some(floor) = self.floor {
            let _ = write!(text, "; floor {floor:.4}");
        }
        println!("{text}; goal {}: {}", self.goal, if self.met { "met" } else { "MISSED" });
    }
}

/// What a case has to reach. The one place that decides whether it does.
#[derive(Clone, Copy)]
pub enum Goal {
    AtMost(f64),
    AtLeast(f64),
}

impl Goal {
    /// Returns whether the result is sure to reach the goal: its whole interval does, give or take the noise that the same
    /// thing shows when it is measured against itself. A result without an interval counts as it is.
    pub fn met(self, value: f64, interval: Option<(f64, f64)>, noise: f64) -> bool {
        let (low, high) = interval.unwrap_or((value, value));
        match self {
            Self::AtMost(bound) => high <= bound + noise,
            Self::AtLeast(bound) => low >= bound - noise,
        }
    }
}

/// The noise of something that was measured against itself, where it should have come to `ideal`: how far the interval
/// reaches from there.
pub fn noise((low, high): (f64, f64), ideal: f64) -> f64 {
    (ideal - low).max(high - ideal)
}

/// A model that is ready to run on made-up inputs.
pub struct Ready {
    pub session: Session,
    pub inputs: Vec<Tensor>,
    pub plan: Arc<dyn Plan>,
    pub resident: Box<dyn DeviceTensors>,
}

/// Loads a model.
pub fn ready(path: &Path, fidelity: Fidelity) -> Ready {
    let session = Session::load(path, fidelity, NonZeroUsize::MIN).expect("the model loads");
    let graph: &onnx::Graph = session.graph();
    let shapes = concrete_shapes(graph, &ShapeSpec::Smallest).expect("the model says its shapes");
    let inputs = generate(graph, &shapes, Data::Random(1)).expect("inputs can be made up");
    planned(session, inputs)
}

/// Loads a model for the given inputs.
pub fn ready_on(path: &Path, fidelity: Fidelity, inputs: Vec<Tensor>) -> Ready {
    planned(Session::load(path, fidelity, NonZeroUsize::MIN).expect("the model loads"), inputs)
}

fn planned(session: Session, inputs: Vec<Tensor>) -> Ready {
    let plan = session.model().plan(&inputs).expect("the model can be planned");
    let resident = plan.upload(&inputs).expect("inputs fit");
    Ready { session, inputs, plan, resident }
}

/// The smallest model of this repository.
pub fn smallest() -> PathBuf {
    models().join("digits_cnn.onnx")
}

/// The models of this repository.
pub fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// A `light_*` model of the package onnx.
pub fn light(name: &str) -> Option<PathBuf> {
    prepared(&format!("light_{name}.onnx"))
}

/// A model that `scripts/bench-models` made; the directory is in `OPSCOPE_LIGHT_MODELS`, which `scripts/bench` sets.
pub fn prepared(file: &str) -> Option<PathBuf> {
    let path = Path::new(&std::env::var_os("OPSCOPE_LIGHT_MODELS")?).join(file);
    path.exists().then_some(path)
}

/// A case that could not be measured here counts as missed.
pub fn not_measured(bench: &'static str, case: &str, goal: &str) {
    let case = format!("{case} (not measured: OPSCOPE_LIGHT_MODELS is not set)");
    let (peer, goal) = (String::new(), goal.to_owned());
    let (value, peer_value) = (f64::NAN, f64::NAN);
    Case { bench, case, value, interval: None, unit: "", peer, peer_value, floor: None, goal, met: false }.print();
}

/// Nanoseconds that something takes.
pub fn nanos(calibration: &Calibration, work: impl FnOnce()) -> f64 {
    let start = Ticks::now();
    work();
    calibration.nanos(start, Ticks::now())
}

/// A calibration over some milliseconds.
pub fn calibration() -> Calibration {
    let start = ClockPair::now();
    std::thread::sleep(std::time::Duration::from_millis(50));
    Calibration::since(start)
}

/// How much more memory this process has resident at its peak while it works than before, in bytes.
pub fn growth(work: impl FnOnce()) -> u64 {
    forget_peak_memory();
    // What is resident now.
    let before = peak_memory();
    work();
    peak_memory() - before
}

/// What a queue of this cap may let a process grow by, in MiB: the queue, the tensor that waits for room, and an eighth for
/// what the allocator needs beside.
pub fn bound(cap: usize, largest: usize) -> f64 {
    (cap + cap / 8 + largest) as f64 / f64::from(1 << 20)
}

/// The bytes of every tensor that a run computes.
pub fn output_bytes(ready: &Ready) -> impl Iterator<Item = usize> {
    let tensors = ready.plan.kernels().iter().flat_map(|kernel| &kernel.output_types);
    tensors.filter_map(|tensor| Some(tensor.shape.iter().product::<usize>() * tensor.dtype?.size()?))
}

/// The median.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Times of two things that were done in turns, pair by pair.
pub struct Pairs {
    pub first: Vec<f64>,
    pub second: Vec<f64>,
}

/// Does two things in turns; which comes first changes from pair to pair, so that neither always finds the warmer cache.
pub fn pairs(count: usize, mut first: impl FnMut() -> f64, mut second: impl FnMut() -> f64) -> Pairs {
    let mut pairs = Pairs { first: Vec::new(), second: Vec::new() };
    for pair in 0..count + 4 {
        let (a, b) = if pair % 2 == 0 {
            let a = first();
            (a, second())
        } else {
            let b = second();
            (first(), b)
        };
        // The first pairs warm up.
        if pair >= 4 {
            pairs.first.push(a);
            pairs.second.push(b);
        }
    }
    pairs
}

impl Pairs {
    /// The median of second / first, with its confidence interval.
    pub fn ratio(&self) -> (f64, (f64, f64)) {
        self.over(|first, second| second / first)
    }

    /// The median of second - first, with its confidence interval.
    pub fn difference(&self) -> (f64, (f64, f64)) {
        self.over(|first, second| second - first)
    }

    fn over(&self, of: impl Fn(f64, f64) -> f64) -> (f64, (f64, f64)) {
        let values: Vec<f64> = self.first.iter().zip(&self.second).map(|(first, second)| of(*first, *second)).collect();
        // Pairs that depend on one another too much have no interval; then their extremes are one that is wide enough.
        let extremes = || values.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
        (median(&values), median_interval(&values).unwrap_or_else(extremes))
    }
}
