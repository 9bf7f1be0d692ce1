//! What does a marker cost through ROCTx and librocprofiler-sdk, against a record of opscope's own? How many reach a tool a second, and
//! what do its buffers cost? `caller.c` is compiled and linked with both libraries, as a user has them.

mod caller;
#[path = "../../../../crates/trace/benches/measure/mod.rs"]
mod measure;

use std::hint::black_box;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use caller::{ALL, Caller, EMIT, LARGE, SMALL, THROUGHPUT};
use measure::{Case, Contender, Measured, measured, nanos_each, run_on, title};
use opscope_clock::Ticks;
use opscope_trace::{Buffer, BufferOptions, Bytes, DispatchRecord, current_thread};

const BATCH: u64 = 10_000;
const RECORDS: u64 = 2_000_000;
/// Millions of records a second.
const DELIVERY_GOAL: f64 = 15.0;
/// The argument of the process that measures memory.
const MEMORY: &str = "--memory";
const MIB: f64 = (1 << 20) as f64;
/// Measured one at a time, each after the callback thread has gone to sleep.
const PAUSE: Duration = Duration::from_micros(50);

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let caller = Caller::build(scratch.path());
    if std::env::args().any(|argument| argument == MEMORY) {
        return memory(&caller);
    }
    let measured = Command::new(std::env::current_exe().expect("this program")).arg(MEMORY).status();
    assert!(measured.expect("it can be started").success(), "memory is measured in a process of its own");
    assert_eq!((caller.begin)(ALL), 0, "the tool is initialized");
    emit(&caller);
    delivery(&caller);
    flush(&caller);
    assert_eq!((caller.wrong)(), 0, "every record is right, and none is lost");
}

fn report(case: Case) {
    case.report_in("markers");
}

/// A marker with its correlation id, and a record of 64 bytes through the crate. Both have a start and an end.
fn emit(caller: &Caller) {
    let native = Buffer::create(BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() }, |batch| {
        black_box(batch.len());
    })
    .expect("the options are valid");
    assert_eq!((caller.start)(EMIT), 0);
    let record = || {
        let start = Ticks::now();
        let end = Ticks::now();
        let record = DispatchRecord { start, end, thread: current_thread(), ..DispatchRecord::default() };
        native.emit(black_box(&record)).expect("there is room");
    };
    let records = || nanos_each(BATCH, |_| record());
    let marks = || {
        let start = Instant::now();
        (caller.mark)(BATCH);
        start.elapsed().as_nanos() as f64 / BATCH as f64
    };
    let flush_native = || native.flush().expect("it is not destroyed");
    let flush_marks = || assert_eq!((caller.flush)(EMIT), 0);

    let start = &Barrier::new(2);
    let (go, asked) = std::sync::mpsc::channel::<bool>();
    let (send, cost_of_other) = std::sync::mpsc::channel::<f64>();
    run_on(0);
    title("ns per marker, and per record of 64 bytes, each with start and end");
    let [native_one, marks_one, native_two, marks_two, native_again] = std::thread::scope(|scope| {
        let (records, marks) = (&records, &marks);
        scope.spawn(move || {
            run_on(1);
            for of_marks in asked {
                start.wait();
                send.send(if of_marks { marks() } else { records() }).expect("it is waited for");
            }
        });
        let go = go;
        let both = |of_marks: bool| {
            go.send(of_marks).expect("the thread receives");
            start.wait();
            let cost = if of_marks { marks() } else { records() };
            (cost + cost_of_other.recv().expect("it was started")) / 2.0
        };
        let and = |cost: f64, flush: &dyn Fn()| {
            flush();
            cost
        };
        measured(
            101,
            [
                Contender::new("opscope_trace::Buffer::emit, 1 thread", || and(records(), &flush_native)),
                Contender::new("roctxMarkA, 1 thread", || and(marks(), &flush_marks)),
                Contender::new("opscope_trace::Buffer::emit, 2 threads, each", || and(both(false), &flush_native)),
                Contender::new("roctxMarkA, 2 threads, each", || and(both(true), &flush_marks)),
                Contender::new("the first once more", || and(records(), &flush_native)),
            ],
        )
    });
    assert_eq!((caller.stop)(EMIT), 0);
    title(&format!("    (the first against itself: {:.3})", native_again.median() / native_one.median()));
    title(
        "    (the vendor's library: about 104 ns to emit, 250 ns to the end, 500 ns with two threads; measured elsewhere)",
    );
    let case = |case, marks: &Measured, native: &Measured| {
        report(Case {
            case,
            value: marks.median(),
            unit: "ns",
            peer: "a native 64-byte record with start and end",
            peer_value: Some(native.median()),
            floor: None,
            goal: format!("at most 1.3 x the native record = {:.1} ns", 1.3 * native.median()),
            met: marks.is_within(1.3, native),
        });
    };
    case("roctxMarkA into a buffer, 1 thread", &marks_one, &native_one);
    case("roctxMarkA into a buffer, 2 threads", &marks_two, &native_two);
}

/// How many markers a second reach a callback that looks at each of them.
fn delivery(caller: &Caller) {
    assert_eq!((caller.start)(THROUGHPUT), 0);
    title("million markers a second, every one looked at");
    let [rate] = measured(
        15,
        [Contender::new("roctxMarkA, 1 producer", || {
            let before = (caller.delivered)();
            let start = Instant::now();
            (caller.mark)(RECORDS);
            assert_eq!((caller.flush)(THROUGHPUT), 0);
            let seconds = start.elapsed().as_secs_f64();
            assert_eq!((caller.delivered)() - before, RECORDS, "all of them");
            RECORDS as f64 / seconds / 1e6
        })],
    );
    assert_eq!((caller.stop)(THROUGHPUT), 0);
    report(Case {
        case: "delivery to a tool, 1 producer",
        value: rate.median(),
        unit: "M records/s",
        peer: "the vendor's library, measured elsewhere",
        peer_value: Some(1e3 / 250.0),
        floor: None,
        goal: format!("at least {DELIVERY_GOAL} M records/s"),
        met: rate.is_at_least(DELIVERY_GOAL),
    });
}

/// What a full buffer of 64 MiB takes, and its delivery, at the peak.
fn memory(caller: &Caller) {
    let before = resident("VmRSS:");
    assert_eq!((caller.begin)(LARGE), 0, "the tool is initialized");
    assert_eq!((caller.start)(LARGE), 0);
    for _ in 0..2 {
        // As many as fit.
        let (records, before) = ((64 << 20) / 64, (caller.delivered)());
        (caller.mark)(records);
        assert_eq!((caller.flush)(LARGE), 0);
        assert_eq!((caller.delivered)() - before, records, "all of them");
    }
    let value = (resident("VmHWM:") - before) / MIB;
    assert_eq!((caller.stop)(LARGE), 0);
    report(Case {
        case: "resident memory of a 64 MiB buffer",
        value,
        unit: "MiB",
        peer: "the configured size",
        peer_value: Some(64.0),
        floor: Some(64.0),
        goal: "at most 64 MiB and 10 % = 70.4 MiB".to_owned(),
        met: value <= 70.4,
    });
}

/// A flush of one marker, in a small buffer and in a large one.
fn flush(caller: &Caller) {
    let flush_one = |context| {
        assert_eq!((caller.start)(context), 0);
        (caller.mark)(1);
        assert_eq!((caller.stop)(context), 0);
        std::thread::sleep(PAUSE);
        let start = Instant::now();
        assert_eq!((caller.flush)(context), 0);
        start.elapsed().as_nanos() as f64 / 1e3
    };
    title("us for a flush of one marker");
    let [small, large] =
        measured(401, [Contender::new("64 KiB", || flush_one(SMALL)), Contender::new("64 MiB", || flush_one(LARGE))]);
    report(Case {
        case: "flush of 1 marker in a 64 MiB buffer",
        value: large.median(),
        unit: "us",
        peer: "the same in 64 KiB",
        peer_value: Some(small.median()),
        floor: None,
        goal: format!("as in 64 KiB, give or take 20 % = {:.1} us", 1.2 * small.median()),
        met: large.is_within(1.2, &small),
    });
}

/// Resident bytes of this process, now or at the peak, as the kernel counts them.
fn resident(which: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("a Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(which)).expect("it has this line");
    let kib: f64 = line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024.0
}
