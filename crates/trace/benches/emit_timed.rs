//! What does a 64-byte record cost with its timestamp, on one thread and on two?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Barrier;

use measure::{nanos_each, run_on};
use opscope_bench::{Case, Contender, Goal, Rounds, finish, times};
use opscope_clock::Ticks;
use opscope_trace::{BufferOptions, Bytes, DispatchRecord, emit};
use subject::{Subject, record};

const BATCH: u64 = 10_000;

/// The contenders.
const SINGLE: usize = 0;
const RING: usize = 1;
const CLOCK: usize = 2;
const DOUBLE: usize = 3;
const HOT: usize = 4;

fn main() -> ExitCode {
    // Large enough for both threads' batches, so that no callback runs while they emit.
    let options = BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() };
    run_on(0);
    let subject = Subject::start_with(options, || run_on(1));
    let mut numbers = [0u64; 4];
    let [alone, beside, other, plain] = &mut numbers;
    let mut slot = Box::new([0u64; 8]);
    let mut end = 0;
    let timed = |producer: u32, number: &mut u64| {
        let now = Ticks::now();
        emit(&DispatchRecord { start: now, end: now, ..record(producer, *number) }).expect("there is room");
        *number += 1;
    };

    let start = &Barrier::new(2);
    let (go, asked) = std::sync::mpsc::channel::<()>();
    let (send_cost, cost_of_other) = std::sync::mpsc::channel::<f64>();
    // As large as the buffer: records go to memory that no cache near the processor holds.
    let mut region = vec![0u64; (8 << 20) / 8];
    let mut at = 0;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            run_on(1);
            for () in asked {
                start.wait();
                send_cost.send(nanos_each(BATCH, |_| timed(1, other))).expect("it is waited for");
            }
        });
        let go = go;
        let mut rounds = Rounds::new(
            times(101, 2),
            [
                Contender::new("opscope emit, 1 thread", || {
                    let cost = nanos_each(BATCH, |_| timed(0, alone));
                    subject.buffer.flush().expect("it is not destroyed");
                    cost
                }),
                Contender::new("floor: rdtsc and 64 bytes into an 8 MiB ring", || {
                    nanos_each(BATCH, |_| {
                        black_box(&mut region[at..at + 8]).fill(Ticks::now().as_raw());
                        at = (at + 8) % region.len();
                    })
                }),
                Contender::new("floor: rdtsc", || {
                    nanos_each(BATCH, |_| {
                        end = black_box(Ticks::now().as_raw());
                    })
                }),
                Contender::new("opscope emit, 2 threads, each", || {
                    go.send(()).expect("the thread receives");
                    start.wait();
                    let cost = nanos_each(BATCH, |_| timed(2, beside));
                    let others = cost_of_other.recv().expect("it was started");
                    subject.buffer.flush().expect("it is not destroyed");
                    (cost + others) / 2.0
                }),
                Contender::new("rdtsc and a hot 64-byte store", || {
                    nanos_each(BATCH, |_| {
                        *black_box(&mut *slot) = [Ticks::now().as_raw(); 8];
                    })
                }),
                Contender::new("opscope emit without its timestamp, 1 thread", || {
                    let cost = nanos_each(BATCH, |_| {
                        emit(&record(3, *plain)).expect("there is room");
                        *plain += 1;
                    });
                    subject.buffer.flush().expect("it is not destroyed");
                    cost
                }),
            ],
        );
        // The floor is the clock and a store that stays in the cache. The ring stands beside it: records fill memory as
        // large as the buffer, which no cache near the processor holds.
        let alone = Goal::AtMost(1.25);
        let judged = rounds.decide_ratio(alone, SINGLE, HOT);
        Case {
            bench: "records",
            case: format!(
                "emit 64 bytes with its timestamp, 1 thread, {:.2} ns; a ring takes {:.2} ns",
                rounds.cost(SINGLE).value,
                rounds.cost(RING).value
            ),
            judged,
            unit: "x",
            peer: ("rdtsc and a hot 64-byte store, ns", rounds.cost(HOT).value),
            floor: Some(rounds.cost(CLOCK).value),
            goal: alone,
        }
        .print();
        let beside = Goal::AtMost(1.2);
        let judged = rounds.decide_ratio(beside, DOUBLE, SINGLE);
        Case {
            bench: "records",
            case: format!("emit 64 bytes with its timestamp, 2 threads, {:.2} ns", rounds.cost(DOUBLE).value),
            judged,
            unit: "x",
            peer: ("the same on 1 thread, ns", rounds.cost(SINGLE).value),
            floor: Some(rounds.cost(CLOCK).value),
            goal: beside,
        }
        .print();
        rounds.print("ns per 64-byte record with its timestamp");
    });
    finish()
}
