//! What does a 64-byte record cost with its timestamp, on one thread and on two?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::hint::black_box;
use std::sync::Barrier;

use measure::{Case, Contender, medians, nanos_each, run_on, title};
use opscope_clock::Ticks;
use opscope_trace::{BufferOptions, Bytes, DispatchRecord, emit};
use subject::{Subject, record};

const BATCH: u64 = 10_000;

fn main() {
    // Large enough for both threads' batches, so that no callback runs while they emit.
    let options = BufferOptions { watermark: Bytes::mib(8), ..BufferOptions::default() };
    run_on(0);
    let subject = Subject::start_with(options, || run_on(1));
    let mut numbers = [0u64; 3];
    let [alone, beside, other] = &mut numbers;
    let mut slot = Box::new([0u64; 8]);
    let mut end = 0;
    let timed = |producer: u32, number: &mut u64| {
        let now = Ticks::now();
        emit(&DispatchRecord { start: now, end: now, ..record(producer, *number) }).expect("there is room");
        *number += 1;
    };

    let start = &Barrier::new(2);
    let (go, asked) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel::<f64>();
    let [single, floor, clock, double] = std::thread::scope(|scope| {
        scope.spawn(move || {
            run_on(1);
            for () in asked {
                start.wait();
                tell.send(nanos_each(BATCH, |_| timed(1, other))).expect("it is waited for");
            }
        });
        title("ns per 64-byte record with its timestamp");
        let go = go;
        medians(
            101,
            [
                Contender::new("opscope emit, 1 thread", || {
                    let cost = nanos_each(BATCH, |_| timed(0, alone));
                    subject.buffer.flush().expect("it is there");
                    cost
                }),
                Contender::new("floor: rdtsc and a hot 64-byte store", || {
                    nanos_each(BATCH, |_| {
                        *black_box(&mut *slot) = [Ticks::now().as_raw(); 8];
                    })
                }),
                Contender::new("floor: rdtsc", || {
                    nanos_each(BATCH, |_| {
                        end = black_box(Ticks::now().as_raw());
                    })
                }),
                Contender::new("opscope emit, 2 threads, each", || {
                    go.send(()).expect("the thread listens");
                    start.wait();
                    let cost = nanos_each(BATCH, |_| timed(2, beside));
                    let others = told.recv().expect("it was asked");
                    subject.buffer.flush().expect("it is there");
                    (cost + others) / 2.0
                }),
            ],
        )
    });
    let timed = |case, value: f64, bound: f64, peer, goal: String| Case {
        case,
        value,
        unit: "ns",
        peer,
        peer_value: Some(bound),
        floor: Some(clock),
        goal,
        met: false,
    };
    Case {
        met: single <= 1.25 * floor,
        ..timed(
            "emit 64 bytes with its timestamp, 1 thread",
            single,
            floor,
            "rdtsc and a hot 64-byte store",
            format!("at most 1.25 x rdtsc and a hot store = {:.2} ns", 1.25 * floor),
        )
    }
    .report();
    Case {
        met: double <= 1.2 * single,
        ..timed(
            "emit 64 bytes with its timestamp, 2 threads",
            double,
            single,
            "the same on 1 thread",
            format!("at most 1.2 x 1 thread = {:.2} ns", 1.2 * single),
        )
    }
    .report();
}
