//! What does C cost? A record that a C program emits through libopscope.so, and a piece of a dump that its callback gets, against the
//! same through the Rust crate. `caller.c` is compiled and linked with the library, both as a user has them.

#[path = "../../roctx/benches/support/linked.rs"]
mod linked;
#[path = "../../../crates/opscope/benches/support/mod.rs"]
mod support;

use std::ffi::{CString, c_char, c_int};
use std::hint::black_box;
use std::path::Path;

use linked::Linked;
use opscope::dump::{Answer, Delivery, Dumper, Piece, Request, Stream};
use opscope::model::{Fidelity, Instrument};
use opscope::tensor::Tensor;
use opscope::trace::{Buffer, BufferOptions, Bytes, DispatchRecord, KernelIndex};
use opscope_c::opscope_tensor_t;
use opscope_clock::{Calibration, Ticks};
use support::{Case, Goal, Pairs, calibration, light, median, nanos, noise, not_measured, pairs, ready};

const RECORDS: u64 = 10_000;
const DUMPS: usize = 61;
/// Small enough that the calls are a part of the time that can be seen.
const PIECE: usize = 4096;

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let caller = Caller::build(scratch.path());
    let calibration = calibration();
    records(&caller, &calibration);
    match light("squeezenet") {
        Some(path) => dump_pieces(&caller, &path, &calibration),
        None => not_measured("c_api", "a piece of a dump", "the native rate"),
    }
}

/// A record with its timestamp, from C and from Rust.
fn records(caller: &Caller, calibration: &Calibration) {
    let options = BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() };
    let buffer = Buffer::create(options, |batch| {
        black_box(batch.len());
    })
    .expect("the options are valid");
    assert_eq!((caller.begin_records)(), 0);
    let (mut native_number, mut c_number) = (0, 0);
    let mut native = || {
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
    let control: Pairs = {
        let (first, second): (Vec<_>, Vec<_>) = (0..101).map(|_| (native(), native())).unzip();
        Pairs { first, second }
    };
    let pairs = pairs(101, native, || {
        let cost = nanos(calibration, || assert_eq!((caller.emit)(c_number, RECORDS), 0));
        c_number += RECORDS;
        assert_eq!((caller.flush)(), 0);
        assert_eq!((caller.delivered)(), c_number, "every record is delivered");
        cost / RECORDS as f64
    });
    let clock = (0..101).map(|_| {
        nanos(calibration, || (0..RECORDS).for_each(|_| assert!(black_box(Ticks::now()).as_raw() > 0))) / RECORDS as f64
    });
    let clock: Vec<f64> = clock.collect();
    let (value, interval) = pairs.ratio();
    let noise = noise(control.ratio().1, 1.0);
    Case {
        bench: "c_api",
        case: format!("a 64-byte record with its timestamp from C, {:.1} ns", median(&pairs.second)),
        value,
        interval: Some(interval),
        unit: "x",
        peer: format!("the same from Rust, ns (noise {noise:.3})"),
        peer_value: median(&pairs.first),
        floor: Some(median(&clock)),
        goal: "<= 1.3".to_owned(),
        met: Goal::AtMost(1.3).met(value, Some(interval), noise),
    }
    .print();
}

/// Pieces of a real model's tensors, while the run waits, to a callback in C and to one in Rust.
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
    let control = pairs(DUMPS, native, native);
    let pairs =
        pairs(DUMPS, native, || nanos(calibration, || assert_eq!((caller.dump)(inputs.as_ptr(), inputs.len()), 0)));
    let (value, interval) = pairs.ratio();
    let noise = noise(control.ratio().1, 1.0);
    // The first pairs warm up and are not counted.
    let runs = (DUMPS + 4) as f64;
    let pieces = (caller.pieces)() as f64 / runs;
    let rate = (caller.bytes)() as f64 / runs / median(&pairs.second);
    Case {
        bench: "c_api",
        case: format!("squeezenet dumped to C, {pieces:.0} pieces of 4 KiB a run, {rate:.2} GB/s"),
        value,
        interval: Some(interval),
        unit: "x",
        peer: format!("the same to Rust, ms (noise {noise:.3})"),
        peer_value: median(&pairs.first) / 1e6,
        floor: None,
        goal: "<= 1.0 and the noise".to_owned(),
        met: Goal::AtMost(1.0).met(value, Some(interval), noise),
    }
    .print();
}

fn for_c(tensor: &Tensor) -> opscope_tensor_t {
    opscope_tensor_t {
        size: size_of::<opscope_tensor_t>(),
        name: std::ptr::null(),
        dims: tensor.shape().as_ptr(),
        data: tensor.bytes().as_ptr().cast(),
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
    dump: extern "C" fn(*const opscope_tensor_t, usize) -> c_int,
    pieces: extern "C" fn() -> u64,
    bytes: extern "C" fn() -> u64,
}

impl Caller {
    /// Compiles `caller.c`, and loads it with libopscope.so.
    fn build(into: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (include, source) = (root.join("include"), root.join("benches/caller.c"));
        let caller = Linked::build(into, &[(root, "opscope-c")], &[include], &source, &["-lopscope"]);
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
