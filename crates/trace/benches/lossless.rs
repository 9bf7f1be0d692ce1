//! How many records a second reach a consumer that checks each of them, with none lost? And how long does a producer wait?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::sync::atomic::Ordering;
use std::time::Instant;

use measure::{Case, Contender, measured, title};
use opscope_trace::{BufferOptions, DispatchRecord, emit};
use subject::{Subject, record};

const RECORDS: u64 = 2_000_000;
/// Millions of records a second.
const GOAL: f64 = 30.0;

fn main() {
    title("million records a second, lossless, every record checked");
    let [one, two, rtrb, channel] = measured(
        15,
        [
            Contender::new("opscope, 1 producer", || through_opscope(1)),
            Contender::new("opscope, 2 producers", || through_opscope(2)),
            Contender::new("rtrb, 1 producer", through_rtrb),
            Contender::new("crossbeam-channel, 1 producer", through_a_channel),
        ],
    );
    for (case, rate) in [("lossless, 1 producer", one), ("lossless, 2 producers", two)] {
        Case {
            case,
            value: rate.median(),
            unit: "M records/s",
            peer: "rtrb, 1 producer",
            peer_value: Some(rtrb.median().max(channel.median())),
            floor: None,
            goal: format!("at least {GOAL} M records/s"),
            met: rate.is_at_least(GOAL),
        }
        .report();
    }
    let stall = longest_stall();
    // The time that a consumer of that speed needs for a full buffer.
    let options = BufferOptions::default();
    let drained = options.size.get() as f64 / size_of::<DispatchRecord>() as f64 / GOAL;
    Case {
        case: "longest wait of a producer, lossless",
        value: stall,
        unit: "us",
        peer: "a full buffer at the goal above",
        peer_value: Some(drained),
        floor: None,
        goal: format!("at most a full buffer at {GOAL} M records/s = {drained:.0} us"),
        met: stall <= drained,
    }
    .report();
}

fn millions_a_second(start: Instant) -> f64 {
    RECORDS as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn produce(producers: u64, subject: &Subject) {
    std::thread::scope(|scope| {
        for producer in 0..producers {
            scope.spawn(move || {
                for number in 0..RECORDS / producers {
                    emit(&record(producer as u32, number)).expect("it waits for room");
                }
            });
        }
    });
    subject.buffer.flush().expect("it is not destroyed");
    assert_eq!(subject.checked.load(Ordering::Relaxed), RECORDS, "all of them");
    assert_eq!(subject.buffer.statistics().panics, 0, "all of them right");
}

fn through_opscope(producers: u64) -> f64 {
    let subject = Subject::start(BufferOptions::default());
    let start = Instant::now();
    produce(producers, &subject);
    millions_a_second(start)
}

fn longest_stall() -> f64 {
    let subject = Subject::start(BufferOptions::default());
    produce(2, &subject);
    subject.buffer.statistics().longest_stall.as_secs_f64() * 1e6
}

fn through_rtrb() -> f64 {
    let (mut push, mut pop) = rtrb::RingBuffer::<DispatchRecord>::new(131_072);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..RECORDS {
                let mut record = record(0, number);
                while let Err(rtrb::PushError::Full(back)) = push.push(record) {
                    record = back;
                    std::hint::spin_loop();
                }
            }
        });
        let mut next = 0;
        while next < RECORDS {
            if let Ok(record) = pop.pop() {
                assert!(record.run == next && record.kernel.0 == next as u32, "a record is missing or torn");
                next += 1;
            }
        }
    });
    millions_a_second(start)
}

fn through_a_channel() -> f64 {
    let (send, receive) = crossbeam_channel::bounded::<DispatchRecord>(131_072);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..RECORDS {
                send.send(record(0, number)).expect("it is received");
            }
        });
        for (next, record) in receive.iter().enumerate() {
            assert!(record.run == next as u64 && record.kernel.0 == next as u32, "a record is missing or torn");
        }
    });
    millions_a_second(start)
}
