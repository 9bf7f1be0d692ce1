//! How fast are conditions evaluated over tensors that no cache holds?
//!
//! Each is compared with reading the same memory on the same thread. The two are measured in turns, so that a machine
//! that slows down affects both. usage: conditions [--json]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use opscope_bench::{Case, Contender, Goal, Rounds, finish, times};
use opscope_debug::expression::{Condition, TensorRef, Tensors};
use opscope_tensor::{DType, Tensor, TensorView};
use pulp::{Simd, WithSimd};

const BYTES: usize = 256 << 20;
const ROUNDS: usize = 15;
/// The smallest acceptable share of the bandwidth of reading. The deviation of float16 is summed in double precision,
/// so each element is widened twice.
fn least(dtype: DType, text: &str) -> f64 {
    if dtype == DType::F16 && text.starts_with("std") { 0.25 } else { 0.5 }
}

fn main() -> ExitCode {
    for dtype in [DType::F32, DType::F16] {
        let tensor = tensor(dtype);
        let stopped = Stopped { subjects: [tensor.view()] };
        for text in
            ["nan", "absmax > 1000", "nan or absmax > 1000", "inf", "zeros > 100000000", "min < -1000", "std > 1000"]
        {
            case(dtype, text, &stopped, tensor.bytes());
        }
    }
    finish()
}

/// Returns a tensor of finite numbers between -8 and 8, so that the whole tensor has to be searched.
fn tensor(dtype: DType) -> Tensor {
    let mut state = 1u64;
    let mut bytes = Vec::with_capacity(BYTES);
    while bytes.len() < times(BYTES, 1 << 20) {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let value = (state >> 40) as f32 / (1 << 20) as f32 - 8.0;
        match dtype {
            DType::F32 => bytes.extend(value.to_le_bytes()),
            _ => bytes.extend(half::f16::from_f32(value).to_le_bytes()),
        }
    }
    let elements = bytes.len() / dtype.size().expect("floats have a size");
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
    let goal = Goal::AtLeast(least(dtype, text));
    let mut rounds = Rounds::new(
        ROUNDS,
        [
            Contender::new("read", || seconds(|| read(bytes))),
            Contender::new("the condition", || seconds(|| assert_eq!(condition.holds(stopped), Ok(false)))),
        ],
    );
    let judged = rounds.decide_ratio(goal, 0, 1);
    let [read, ours] = [0, 1].map(|contender| bytes.len() as f64 / rounds.cost(contender).value / 1e9);
    let case = format!("condition '{text}', 256 MiB of {dtype}, {ours:.1} GB/s");
    let peer = ("read, one thread, GB/s", read);
    Case { bench: "events", case, judged, unit: "x", peer, floor: Some(read), goal }.print();
}

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
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
