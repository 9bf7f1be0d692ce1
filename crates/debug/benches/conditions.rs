//! How fast are conditions evaluated over tensors that no cache holds?
//!
//! Each is compared with reading the same memory by the same thread. What is compared is measured in turns, so that a
//! machine that slows down slows both down. usage: conditions [--json]

use std::hint::black_box;
use std::time::Instant;

use opscope_debug::expression::{Condition, TensorRef, Tensors};
use opscope_tensor::{DType, Tensor, TensorView};
use pulp::{Simd, WithSimd};

const BYTES: usize = 256 << 20;
const ROUNDS: usize = 15;
/// The least share of the bandwidth of reading. A deviation of halves is added up in double precision: each is widened twice.
fn goal(dtype: DType, text: &str) -> f64 {
    if dtype == DType::F16 && text.starts_with("std") { 0.25 } else { 0.5 }
}

fn main() {
    for dtype in [DType::F32, DType::F16] {
        let tensor = tensor(dtype);
        let stopped = Stopped { subjects: [tensor.view()] };
        for text in
            ["nan", "absmax > 1000", "nan or absmax > 1000", "inf", "zeros > 100000000", "min < -1000", "std > 1000"]
        {
            case(dtype, text, &stopped, tensor.bytes());
        }
    }
}

/// Finite numbers between -8 and 8: the whole tensor has to be looked through.
fn tensor(dtype: DType) -> Tensor {
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(BYTES);
    while bytes.len() < BYTES {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (state >> 40) as f32 / (1 << 20) as f32 - 8.0;
        match dtype {
            DType::F32 => bytes.extend(value.to_le_bytes()),
            _ => bytes.extend(half::f16::from_f32(value).to_le_bytes()),
        }
    }
    let elements = BYTES / dtype.size().expect("floats have a size");
    Tensor::new(dtype, vec![elements], bytes).expect("the length fits")
}

struct Stopped<'a> {
    subjects: [TensorView<'a>; 1],
}

impl Tensors for Stopped<'_> {
    fn view(&self, _: &TensorRef) -> Option<TensorView<'_>> {
        None
    }

    fn subjects(&self) -> &[TensorView<'_>] {
        &self.subjects
    }
}

fn case(dtype: DType, text: &str, stopped: &Stopped<'_>, bytes: &[u8]) {
    let condition = Condition::parse(text).expect("it is right");
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=ROUNDS {
        let evaluated = seconds(|| assert_eq!(condition.holds(stopped), Ok(false)));
        let read = seconds(|| read(bytes));
        // The first round is for page faults and clocks.
        if round > 0 {
            times[0].push(evaluated);
            times[1].push(read);
        }
    }
    let shares: Vec<f64> = times[0].iter().zip(&times[1]).map(|(evaluated, read)| read / evaluated).collect();
    let [value, floor] = times.map(|times| bytes.len() as f64 / median(times) / 1e9);
    let least = goal(dtype, text);
    let goal = format!(">= {least} x the read bandwidth");
    let met = at_least(shares, least);
    if std::env::args().any(|argument| argument == "--json") {
        let line = serde_json::json!({
            "bench": "events", "case": format!("condition '{text}', 256 MiB of {dtype}"), "value": value, "unit": "GB/s",
            "peer": "read, one thread", "peer_value": floor, "floor": floor, "goal": goal, "met": met,
        });
        println!("{line}");
    } else {
        let met = if met { "met" } else { "NOT MET" };
        let case = format!("condition '{text}', {dtype}");
        println!("{case:<44} {value:>7.2} GB/s  {:>5.2} x read ({floor:.2} GB/s)  goal: {goal} - {met}", value / floor);
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// Returns whether the median of these is at least so much: all of its 95 % confidence interval, which the fourth smallest
/// of 15 values is the lower end of.
fn at_least(mut values: Vec<f64>, least: f64) -> bool {
    const LOWER_END: usize = 3;
    values.sort_by(f64::total_cmp);
    values[LOWER_END] >= least
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Reads every byte once, with the machine's widest vectors.
fn read(bytes: &[u8]) {
    struct Sum<'a>(&'a [u8]);

    impl WithSimd for Sum<'_> {
        type Output = u64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _simd: S) -> u64 {
            let words = self.0.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes));
            words.fold(0, u64::wrapping_add)
        }
    }

    black_box(pulp::Arch::new().dispatch(Sum(bytes)));
}
