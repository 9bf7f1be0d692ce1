//! Measures the rate at which the pieces of a dump reach a callback of AscendCL, compared with the native callback of a
//! dump. `caller.c` is compiled and linked with libascendcl.so, like a user's program.

#[path = "../../../../crates/job/benches/support/mod.rs"]
mod support;

use std::ffi::{CString, c_char, c_int};
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope::dump::{Answer, Dumper, IoSelection, Piece, Request, Selection, Stream};
use opscope::model::{Fidelity, Instrument};
use opscope_bench::{Case, Goal, Judged, Measured, decide, finish, median, not_measured, times};
use opscope_c_programs::{Language, Library, Program};
use support::{NO_MODELS, calibration, light, nanos, ready};

const MODEL: &str = "densenet121";
/// How many rounds are measured at once.
const ROUNDS: usize = 31;
/// At least half of the native rate.
const GOAL: Goal = Goal::AtLeast(0.5);

fn main() -> ExitCode {
    let Some(path) = light(MODEL) else {
        not_measured("ascendcl", "pieces of a dump", GOAL, "x", NO_MODELS);
        return finish();
    };
    let caller = Program::of(Library::AscendCl, Library::AscendCl.root().join("benches/pieces/caller.c"));
    let caller = caller.options(&["-O2", "-lascendcl"]).load(Language::C11);
    // SAFETY: these are the signatures of the functions in the file.
    let (begin, run, pieces, bytes) = unsafe {
        (
            caller.function::<extern "C" fn(*const c_char) -> c_int>(c"caller_begin"),
            caller.function::<extern "C" fn() -> c_int>(c"caller_run"),
            caller.function::<extern "C" fn() -> u64>(c"caller_pieces"),
            caller.function::<extern "C" fn() -> u64>(c"caller_bytes"),
        )
    };
    let text = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
    assert_eq!(begin(text.as_ptr()), 0, "the model is loaded");

    let ready = ready(&path, Fidelity::Exact);
    let arrived = Arc::new(AtomicU64::new(0));
    let at_load = dumped(&ready, 0);
    let expected = dumped(&ready, 1) - at_load;
    let dumper = Dumper::new();
    let count = {
        let arrived = Arc::clone(&arrived);
        move |_: &Stream, piece: Piece<'_>| {
            black_box(piece.bytes);
            arrived.fetch_add(piece.bytes.len() as u64, Ordering::Release);
            Answer::Continue
        }
    };
    dumper.subscribe(Box::new(count), request()).expect("the sink subscribes");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("the plan is known");
    let instruments: [&dyn Instrument; 1] = [&dumper];

    let calibration = calibration();
    let exact = || nanos(&calibration, || drop(black_box(ready.session.run(&ready.inputs, &[]).expect("it runs"))));
    let native = || {
        let before = arrived.load(Ordering::Acquire);
        nanos(&calibration, || {
            drop(black_box(ready.session.run(&ready.inputs, &instruments).expect("it runs")));
            while arrived.load(Ordering::Acquire) < before + expected {
                std::thread::yield_now();
            }
        })
    };
    let ours = || nanos(&calibration, || assert_eq!(run(), 0));
    // Tensors that were computed when the model was loaded are dumped with the first run.
    exact();
    ours();
    while arrived.load(Ordering::Acquire) < at_load {
        std::thread::yield_now();
    }
    native();
    let [mut ratios, mut controls, mut natives, mut own] = [const { Vec::new() }; 4];
    let before = (pieces(), bytes());
    let judged = decide(GOAL, || {
        for _ in 0..times(ROUNDS, 1) {
            let alone = exact();
            let arrived_before = bytes();
            let [native, own_time, again] = [native(), ours(), native()].map(|with_dump| with_dump - alone);
            // In bytes per nanosecond. AscendCL's files of each run also have the constants, which the native dump has
            // only once.
            let (native_rate, own_rate) = (expected as f64 / native, (bytes() - arrived_before) as f64 / own_time);
            ratios.push(own_rate / native_rate);
            controls.push(again / native);
            natives.push(native_rate);
            own.push(own_rate);
        }
        Judged { measured: Measured::of(&ratios), noise: Measured::of(&controls).reach_from(1.0) }
    });
    let each = |now: u64, before: u64| (now - before) / ratios.len() as u64;
    assert!(each(bytes(), before.1) >= expected, "everything arrives, with a header for each operator");
    Case {
        bench: "ascendcl",
        case: format!(
            "{MODEL}, {} pieces and {:.0} MB a run to a callback of AscendCL, {:.2} GB/s",
            each(pieces(), before.0),
            each(bytes(), before.1) as f64 / 1e6,
            median(&own)
        ),
        judged,
        unit: "x",
        peer: ("the native callback, GB/s", median(&natives)),
        floor: None,
        goal: GOAL,
    }
    .print();
    finish()
}

/// Returns what AscendCL dumps without a configuration file: the outputs of all operators.
fn request() -> Request {
    Request { selection: Selection { io: IoSelection::Outputs, ..Selection::default() }, ..Request::default() }
}

/// Returns the number of bytes that this many runs dump, including tensors that were computed when the model was
/// loaded.
fn dumped(ready: &support::Ready, runs: usize) -> u64 {
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(|_: &Stream, _: Piece<'_>| Answer::Continue), request()).expect("the sink subscribes");
    dumper.add_plan(&**ready.session.model(), &*ready.plan).expect("the plan is known");
    for _ in 0..runs {
        drop(ready.session.run(&ready.inputs, &[&dumper]).expect("it runs"));
    }
    let report = dumper.finish().expect("the dump is closed");
    report.subscriptions.iter().map(|subscription| subscription.delivered.bytes).sum()
}
