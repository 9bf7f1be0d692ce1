//! Measures the cost of C: a record that a C program emits through libopscope.so, and a piece of a dump that its
//! callback receives, each compared with the same through the Rust crate. `caller.c` is compiled and linked with the
//! library, like a user's program.

#[path = "../../../crates/job/benches/support/mod.rs"]
mod support;

use std::ffi::{CString, c_char, c_int};
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

use opscope::dump::{Answer, Delivery, Dumper, Piece, Request, Stream};
use opscope::model::{Fidelity, Instrument};
use opscope::tensor::Tensor;
use opscope::trace::{Buffer, BufferOptions, Bytes, DispatchRecord, KernelIndex};
use opscope_bench::{Case, Contender, Goal, Rounds, finish, median, not_measured};
use opscope_border::Text;
use opscope_c::opscope_tensor_t;
use opscope_c_programs::{Language, Library, Program};
use opscope_clock::{Calibration, Ticks};
use support::{NO_MODELS, calibration, light, nanos, ready};

const RECORDS: u64 = 10_000;
/// How many rounds of dumps are measured.
const DUMPS: usize = 61;
/// The goal is the native rate within the noise. A bound of exactly 1 can never be decided, so it is 1.02.
const PIECES: Goal = Goal::AtMost(1.02);
/// The size of a piece in bytes. It is so small that the cost of the calls is visible.
const PIECE: usize = 4096;

fn main() -> ExitCode {
    let caller = Caller::load();
    let calibration = calibration();
    records(&caller, &calibration);
    match light("squeezenet") {
        Some(path) => dump_pieces(&caller, &path, &calibration),
        None => not_measured("c_api", "a piece of a dump", PIECES, "x", NO_MODELS),
    }
    finish()
}

/// Measures a record with its timestamp, from C and from Rust.
fn records(caller: &Caller, calibration: &Calibration) {
    let options = BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() };
    let buffer = Buffer::create(options, |batch| {
        black_box(batch.len());
    })
    .expect("the options are valid");
    assert_eq!((caller.begin_records)(), 0);
    let (mut native_number, mut c_number) = (0, 0);
    let native = || {
        let cost = nanos(calibration, || {
            for number in native_number..native_number + RECORDS {
                let now = Ticks::now();
                let record = DispatchRecord {
                    run: number,
                    kernel: KernelIndex(number as u32),
                    start: now,
                    end: now,
                    ..DispatchRecord::default()
                };
                buffer.emit(black_box(&record)).expect("there is room");
            }
        });
        native_number += RECORDS;
        buffer.flush().expect("it is not destroyed");
        cost / RECORDS as f64
    };
    let from_c = || {
        let cost = nanos(calibration, || assert_eq!((caller.emit)(c_number, RECORDS), 0));
        c_number += RECORDS;
        assert_eq!((caller.flush)(), 0);
        assert_eq!((caller.delivered)(), c_number, "every record is delivered");
        cost / RECORDS as f64
    };
    let clock = || {
        nanos(calibration, || (0..RECORDS).for_each(|_| assert!(black_box(Ticks::now()).as_raw() > 0))) / RECORDS as f64
    };
    let goal = Goal::AtMost(1.3);
    let mut rounds = Rounds::new(
        101,
        [
            Contender::new("from Rust", native),
            Contender::new("from C", from_c),
            Contender::new("a reading of the clock", clock),
        ],
    );
    let judged = rounds.decide_ratio(goal, 1, 0);
    Case {
        bench: "c_api",
        case: format!("a 64-byte record with its timestamp from C, {:.1} ns", rounds.cost(1).value),
        judged,
        unit: "x",
        peer: ("the same from Rust, ns", rounds.cost(0).value),
        floor: Some(rounds.cost(2).value),
        goal,
    }
    .print();
}

/// Measures pieces of a real model's tensors that are passed to a callback in C and to one in Rust, while the run
/// waits.
fn dump_pieces(caller: &Caller, path: &Path, calibration: &Calibration) {
    let ready = ready(path, Fidelity::Exact);
    let text = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
    assert_eq!((caller.load)(text.as_ptr(), PIECE), 0);
    let dumper = Dumper::new();
    let mut counted = (0u64, 0u64);
    let count = move |_: &Stream, piece: Piece<'_>| {
        counted = (counted.0 + 1, counted.1 + piece.bytes.len() as u64);
        black_box(counted);
        Answer::Continue
    };
    let request = Request { delivery: Some(Delivery::Direct), piece_size: PIECE, ..Request::default() };
    dumper.subscribe(Box::new(count), request).expect("the sink subscribes");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("the plan is known");
    let inputs: Vec<opscope_tensor_t> = ready.inputs.iter().map(for_c).collect();

    let instruments: [&dyn Instrument; 1] = [&dumper];
    let native =
        || nanos(calibration, || drop(black_box(ready.session.run(&ready.inputs, &instruments).expect("it runs"))));
    let (mut runs, mut times) = (0.0, Vec::new());
    let from_c = || {
        runs += 1.0;
        let time = nanos(calibration, || assert_eq!((caller.dump)(inputs.as_ptr(), inputs.len()), 0));
        times.push(time);
        time
    };
    let mut rounds = Rounds::new(DUMPS, [Contender::new("to Rust", native), Contender::new("to C", from_c)]);
    let judged = rounds.decide_ratio(PIECES, 1, 0);
    let to_rust = rounds.cost(0).value / 1e6;
    drop(rounds);
    let (pieces, bytes) = ((caller.pieces)() as f64 / runs, (caller.bytes)() as f64 / runs);
    let rate = bytes / median(&times);
    Case {
        bench: "c_api",
        case: format!("squeezenet dumped to C, {pieces:.0} pieces of 4 KiB a run, {rate:.2} GB/s"),
        judged,
        unit: "x",
        peer: ("the same to Rust, ms", to_rust),
        floor: None,
        goal: PIECES,
    }
    .print();
}

fn for_c(tensor: &Tensor) -> opscope_tensor_t<'_> {
    opscope_tensor_t {
        size: size_of::<opscope_tensor_t>(),
        name: Text::NULL,
        dims: tensor.shape().into(),
        data: tensor.bytes().into(),
        bytes: tensor.bytes().len(),
        dtype: tensor.dtype().onnx_code() as u32,
        rank: tensor.shape().len() as u32,
    }
}

/// The functions of `caller.c`.
struct Caller {
    begin_records: extern "C" fn() -> c_int,
    emit: extern "C" fn(u64, u64) -> u64,
    flush: extern "C" fn() -> c_int,
    delivered: extern "C" fn() -> u64,
    load: extern "C" fn(*const c_char, usize) -> c_int,
    dump: extern "C" fn(*const opscope_tensor_t<'_>, usize) -> c_int,
    pieces: extern "C" fn() -> u64,
    bytes: extern "C" fn() -> u64,
}

impl Caller {
    /// Compiles `caller.c`, and loads it with libopscope.so.
    fn load() -> Self {
        let caller = Program::of(Library::Opscope, Library::Opscope.root().join("benches/caller.c"));
        let caller = caller.options(&["-O2", "-lopscope"]).load(Language::C11);
        // SAFETY: each field has the signature of its function in the file.
        unsafe {
            Self {
                begin_records: caller.function(c"caller_begin_records"),
                emit: caller.function(c"caller_emit"),
                flush: caller.function(c"caller_flush"),
                delivered: caller.function(c"caller_delivered"),
                load: caller.function(c"caller_load"),
                dump: caller.function(c"caller_dump"),
                pieces: caller.function(c"caller_pieces"),
                bytes: caller.function(c"caller_bytes"),
            }
        }
    }
}
