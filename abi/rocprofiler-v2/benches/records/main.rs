//! Measures the cost of a record through librocprofiler64, compared with a record of opscope's own, also when kinds
//! alternate. `caller.c` is compiled and linked with the library and with ROCTx, like a user's program.

#[path = "../../../../crates/trace/benches/measure/mod.rs"]
mod measure;

use std::cell::Cell;
use std::ffi::c_int;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use measure::{nanos_each, run_on};
use opscope_bench::{Case, Contender, Goal, Rounds, finish};
use opscope_c_programs::{Language, Library, Program};
use opscope_clock::Ticks;
use opscope_trace::{Buffer, BufferOptions, Bytes, DispatchRecord, MarkerRecord, NameId, current_thread};

const BATCH: u64 = 10_000;

fn main() -> ExitCode {
    let source = Library::RocprofilerV2.root().join("benches/records/caller.c");
    let caller = Program::of(Library::RocprofilerV2, source).uses(Library::Roctx);
    let caller = caller.options(&["-O2", "-lrocprofiler64v2", "-lroctx64"]).load(Language::C11);
    type Number = extern "C" fn() -> u64;
    // SAFETY: these are the signatures of the functions in the file.
    let (begin, mark, alternate, flush, markers, dispatches, wrong) = unsafe {
        (
            caller.function::<extern "C" fn() -> c_int>(c"caller_begin"),
            caller.function::<extern "C" fn(u64)>(c"caller_mark"),
            caller.function::<extern "C" fn(u64)>(c"caller_alternate"),
            caller.function::<extern "C" fn() -> c_int>(c"caller_flush"),
            caller.function::<Number>(c"caller_markers"),
            caller.function::<Number>(c"caller_dispatches"),
            caller.function::<Number>(c"caller_wrong"),
        )
    };

    run_on(0);
    assert_eq!(begin(), 0, "the session is started");
    let options = BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() };
    let native = Buffer::create(options, |batch| {
        black_box(batch.len());
    });
    let native = native.expect("the options are valid");
    let marker = || {
        let start = Ticks::now();
        let record =
            MarkerRecord { start, end: start, thread: current_thread(), name: NameId(1), ..Default::default() };
        native.emit(black_box(&record)).expect("there is room");
    };
    let dispatch = || {
        let (start, end) = (Ticks::from_raw(10), Ticks::from_raw(20));
        let record = DispatchRecord { start, end, thread: current_thread(), ..DispatchRecord::default() };
        native.emit(black_box(&record)).expect("there is room");
    };
    let with_flush = |cost: f64| {
        native.flush().expect("it is not destroyed");
        assert_eq!(flush(), 0);
        cost
    };
    let each = |calls: extern "C" fn(u64)| {
        let start = Instant::now();
        calls(BATCH);
        start.elapsed().as_nanos() as f64 / BATCH as f64
    };
    let (calls, alternations) = (Cell::new(0), Cell::new(0));
    let mut rounds = Rounds::new(
        101,
        [
            Contender::new("opscope_trace::Buffer::emit, a marker", || with_flush(nanos_each(BATCH, |_| marker()))),
            Contender::new("roctxMarkA", || {
                calls.set(calls.get() + 1);
                with_flush(each(mark))
            }),
            Contender::new("opscope_trace::Buffer::emit, kinds alternate", || {
                let pair = |index| if index % 2 == 0 { marker() } else { dispatch() };
                with_flush(nanos_each(BATCH, pair))
            }),
            Contender::new("roctxMarkA and a dispatch alternate", || {
                alternations.set(alternations.get() + 1);
                with_flush(each(alternate))
            }),
        ],
    );
    let goal = Goal::AtMost(1.5);
    for (case, ours, native, peer) in [
        ("a marker into a v2 buffer", 1, 0, "a native marker with its time, ns"),
        ("a marker and a dispatch in turns", 3, 2, "native records of two kinds in turns, ns"),
    ] {
        let judged = rounds.decide_ratio(goal, ours, native);
        let case = format!("{case}, {:.1} ns", rounds.cost(ours).value);
        let peer = (peer, rounds.cost(native).value);
        Case { bench: "rocprofiler_v2", case, judged, unit: "x", peer, floor: None, goal }.print();
    }
    rounds.print("ns per record");
    drop(rounds);
    let (marks, halves) = (calls.get() * BATCH, alternations.get() * BATCH / 2);
    assert_eq!((markers(), dispatches()), (marks + halves, halves), "every record arrives");
    assert_eq!(wrong(), 0, "every record is right");
    finish()
}
