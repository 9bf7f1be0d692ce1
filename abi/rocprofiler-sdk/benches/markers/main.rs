//! Measures the cost of a marker through ROCTx and librocprofiler-sdk, compared with a record of opscope's own, how
//! many markers per second reach a tool, and what the tool's buffers cost. `caller.c` is compiled and linked with both
//! libraries, like a user's program.

mod caller;
#[path = "../../../../crates/trace/benches/measure/mod.rs"]
mod measure;

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use caller::{ALL, Caller, EMIT, LARGE, SMALL, THROUGHPUT};
use measure::{nanos_each, run_on};
use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, decide, finish, say, times};
use opscope_clock::Ticks;
use opscope_trace::{Buffer, BufferOptions, Bytes, DispatchRecord, current_thread};

const BATCH: u64 = 10_000;
const RECORDS: u64 = 2_000_000;
/// Millions of records a second.
const DELIVERY_GOAL: f64 = 15.0;
/// The argument of the process that measures memory.
const MEMORY: &str = "--memory";
const MIB: f64 = (1 << 20) as f64;
/// The pause before each measured flush. The callback thread sleeps by then.
const PAUSE: Duration = Duration::from_micros(50);

fn main() -> ExitCode {
    let caller = Caller::load();
    if std::env::args().any(|argument| argument == MEMORY) {
        println!("{}", memory(&caller));
        return ExitCode::SUCCESS;
    }
    resident_memory();
    assert_eq!((caller.begin)(ALL), 0, "the tool is initialized");
    emit(&caller);
    delivery(&caller);
    flush(&caller);
    assert_eq!((caller.wrong)(), 0, "every record is right, and none is lost");
    finish()
}

/// Measures a marker with its correlation id, and a record of 64 bytes through `opscope-trace`. Both have a start and
/// an end.
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
    std::thread::scope(|scope| {
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
        let mut rounds = Rounds::new(
            101,
            [
                Contender::new("opscope_trace::Buffer::emit, 1 thread", || and(records(), &flush_native)),
                Contender::new("roctxMarkA, 1 thread", || and(marks(), &flush_marks)),
                Contender::new("opscope_trace::Buffer::emit, 2 threads, each", || and(both(false), &flush_native)),
                Contender::new("roctxMarkA, 2 threads, each", || and(both(true), &flush_marks)),
            ],
        );
        let goal = Goal::AtMost(1.3);
        for (threads, ours, native) in [("1 thread", 1, 0), ("2 threads", 3, 2)] {
            let judged = rounds.decide_ratio(goal, ours, native);
            let case = format!("roctxMarkA into a buffer, {threads}, {:.1} ns", rounds.cost(ours).value);
            let peer = ("a native 64-byte record with start and end, ns", rounds.cost(native).value);
            Case { bench: "markers", case, judged, unit: "x", peer, floor: None, goal }.print();
        }
        rounds.print("ns per marker, and per record of 64 bytes, each with start and end");
    });
    assert_eq!((caller.stop)(EMIT), 0);
    say(
        "    (the vendor's library: about 104 ns to emit, 250 ns to the end, 500 ns with two threads; measured elsewhere)",
    );
}

/// Measures how many markers per second reach a callback that looks at each of them.
fn delivery(caller: &Caller) {
    let records = times(RECORDS, 50_000);
    assert_eq!((caller.start)(THROUGHPUT), 0);
    let goal = Goal::AtLeast(DELIVERY_GOAL);
    let mut rounds = Rounds::new(
        15,
        [Contender::new("roctxMarkA, 1 producer", || {
            let before = (caller.delivered)();
            let start = Instant::now();
            (caller.mark)(records);
            assert_eq!((caller.flush)(THROUGHPUT), 0);
            let seconds = start.elapsed().as_secs_f64();
            assert_eq!((caller.delivered)() - before, records, "all of them");
            records as f64 / seconds / 1e6
        })],
    );
    let judged = decide(goal, || {
        rounds.more();
        Judged { measured: rounds.cost(0), noise: rounds.difference(0, 0).noise }
    });
    drop(rounds);
    assert_eq!((caller.stop)(THROUGHPUT), 0);
    let (case, peer) = ("delivery to a tool, 1 producer".to_owned(), ("the vendor's library, measured elsewhere", 4.0));
    Case { bench: "markers", case, judged, unit: "M records/s", peer, floor: None, goal }.print();
}

/// Measures the memory of a full buffer of 64 MiB, each time in a separate process.
fn resident_memory() {
    let goal = Goal::AtMost(70.4);
    let mut measured = Vec::new();
    let judged = decide(goal, || {
        measured.extend((0..times(7, 1)).map(|_| {
            let program = std::env::current_exe().expect("this program");
            let output = Command::new(program).arg(MEMORY).output().expect("it can be started");
            let text = String::from_utf8_lossy(&output.stdout);
            text.trim().parse::<f64>().unwrap_or_else(|_| panic!("{output:?}"))
        }));
        Judged::alone(Measured::of(&measured))
    });
    let (case, peer) = ("resident memory of a 64 MiB buffer".to_owned(), ("the configured size, MiB", 64.0));
    Case { bench: "markers", case, judged, unit: "MiB", peer, floor: Some(64.0), goal }.print();
}

/// Returns how many MiB a full buffer of 64 MiB and its delivery take at the peak.
fn memory(caller: &Caller) -> f64 {
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
    value
}

/// Measures a flush of one marker, in a small buffer and in a large one.
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
    let goal = Goal::AtMost(1.2);
    let mut rounds = Rounds::new(
        401,
        [Contender::new("64 KiB", || flush_one(SMALL)), Contender::new("64 MiB", || flush_one(LARGE))],
    );
    let judged = rounds.decide_ratio(goal, 1, 0);
    let case = format!("flush of 1 marker in a 64 MiB buffer, {:.1} us", rounds.cost(1).value);
    let peer = ("the same in 64 KiB, us", rounds.cost(0).value);
    Case { bench: "markers", case, judged, unit: "x", peer, floor: None, goal }.print();
}

/// Returns the resident bytes of this process, now or at the peak, as the kernel counts them.
fn resident(which: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("a Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(which)).expect("it has this line");
    let kib: f64 = line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
    kib * 1024.0
}
