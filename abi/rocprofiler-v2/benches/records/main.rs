//! What does a record cost through librocprofiler64, against one of opscope's own, also where kinds alternate? `caller.c` is compiled and
//! linked with the library and with ROCTx, as a user has them.

#[path = "../../../roctx/benches/support/linked.rs"]
mod linked;
#[path = "../../../../crates/trace/benches/measure/mod.rs"]
mod measure;

use std::ffi::c_int;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use linked::Linked;
use measure::{Case, Contender, Measured, measured, nanos_each, run_on, title};
use opscope_clock::Ticks;
use opscope_trace::{Buffer, BufferOptions, Bytes, DispatchRecord, MarkerRecord, NameId, current_thread};

const BATCH: u64 = 10_000;

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let caller = Linked::build(
        scratch.path(),
        &[(root, "opscope-rocprofiler-v2"), (&root.join("../roctx"), "opscope-roctx")],
        &[root.join("include"), root.join("../roctx/include"), root.join("../producer/include")],
        &root.join("benches/records/caller.c"),
        &["-lrocprofiler64v2", "-lroctx64"],
    );
    let begin: extern "C" fn() -> c_int = caller.function(c"caller_begin");
    let mark: extern "C" fn(u64) = caller.function(c"caller_mark");
    let alternate: extern "C" fn(u64) = caller.function(c"caller_alternate");
    let flush: extern "C" fn() -> c_int = caller.function(c"caller_flush");
    let [markers, dispatches, wrong] = [c"caller_markers", c"caller_dispatches", c"caller_wrong"]
        .map(|name| caller.function::<extern "C" fn() -> u64>(name));

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
    title("ns per record");
    let [one_native, one, two_native, two, again] = measured(
        101,
        [
            Contender::new("opscope_trace::Buffer::emit, a marker", || with_flush(nanos_each(BATCH, |_| marker()))),
            Contender::new("roctxMarkA", || with_flush(each(mark))),
            Contender::new("opscope_trace::Buffer::emit, kinds alternate", || {
                let pair = |index| if index % 2 == 0 { marker() } else { dispatch() };
                with_flush(nanos_each(BATCH, pair))
            }),
            Contender::new("roctxMarkA and a dispatch alternate", || with_flush(each(alternate))),
            Contender::new("the first once more", || with_flush(nanos_each(BATCH, |_| marker()))),
        ],
    );
    title(&format!("    (the first against itself: {:.3})", again.median() / one_native.median()));
    // 101 rounds and one to warm up; half of those that alternate are markers.
    assert_eq!((markers(), dispatches()), (102 * BATCH * 3 / 2, 102 * BATCH / 2), "every record arrives");
    assert_eq!(wrong(), 0, "every record is right");
    let report = |case, ours: &Measured, native: &Measured, peer| {
        let case = Case {
            case,
            value: ours.median(),
            unit: "ns",
            peer,
            peer_value: Some(native.median()),
            floor: None,
            goal: format!("at most 1.5 x the native record = {:.1} ns", 1.5 * native.median()),
            met: ours.is_within(1.5, native),
        };
        case.report_in("rocprofiler_v2");
    };
    report("a marker into a v2 buffer", &one, &one_native, "a native marker with its time");
    report("a marker and a dispatch in turns", &two, &two_native, "native records of two kinds in turns");
}
