//! How many records a second reach a consumer that checks each of them, with none lost? And how long does a producer
//! wait?

#[path = "measure/subject.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Instant;

use opscope_bench::{Case, Contender, Goal, Judged, Measured, Rounds, decide, finish, times};
use opscope_trace::{BufferOptions, DispatchRecord, emit};
use subject::{Subject, record};

const RECORDS: u64 = 2_000_000;
/// Millions of records a second.
const GOAL: f64 = 30.0;

fn main() -> ExitCode {
    let records = times(RECORDS, 50_000);
    const PEERS: [usize; 2] = [2, 3];
    let goal = Goal::AtLeast(GOAL);
    let mut rounds = Rounds::new(
        15,
        [
            Contender::new("opscope, 1 producer", || through_opscope(1, records)),
            Contender::new("opscope, 2 producers", || through_opscope(2, records)),
            Contender::new("rtrb, 1 producer", || through_rtrb(records)),
            Contender::new("crossbeam-channel, 1 producer", || through_a_channel(records)),
        ],
    );
    for (ours, case) in [(0, "lossless, 1 producer"), (1, "lossless, 2 producers")] {
        let judged = decide(goal, || {
            rounds.more();
            Judged { measured: rounds.cost(ours), noise: rounds.difference(ours, ours).noise }
        });
        let peer = PEERS.map(|peer| rounds.cost(peer).value).into_iter().fold(0.0, f64::max);
        let (case, peer) = (case.to_owned(), ("the faster of rtrb and crossbeam-channel, M records/s", peer));
        Case { bench: "records", case, judged, unit: "M records/s", peer, floor: None, goal }.print();
    }
    rounds.print("million records a second, lossless, every record checked");
    // An eighth of what a consumer of that speed needs for a full buffer.
    let options = BufferOptions::default();
    let drained = options.size.get() as f64 / size_of::<DispatchRecord>() as f64 / GOAL;
    let goal = Goal::AtMost(drained / 8.0);
    let mut stalls = Vec::new();
    let judged = decide(goal, || {
        stalls.extend((0..times(15, 1)).map(|_| longest_stall(records)));
        Judged::alone(Measured::of(&stalls))
    });
    let peer = ("a full buffer at the rate above, us", drained);
    let case = "longest wait of a producer, lossless".to_owned();
    Case { bench: "records", case, judged, unit: "us", peer, floor: None, goal }.print();
    finish()
}

fn millions_a_second(records: u64, start: Instant) -> f64 {
    records as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn produce(producers: u64, records: u64, subject: &Subject) {
    std::thread::scope(|scope| {
        for producer in 0..producers {
            scope.spawn(move || {
                for number in 0..records / producers {
                    emit(&record(producer as u32, number)).expect("it waits for room");
                }
            });
        }
    });
    subject.buffer.flush().expect("it is not destroyed");
    assert_eq!(subject.checked.load(Ordering::Relaxed), records, "all of them");
    assert_eq!(subject.buffer.statistics().panics, 0, "all of them right");
}

fn through_opscope(producers: u64, records: u64) -> f64 {
    let subject = Subject::start(BufferOptions::default());
    let start = Instant::now();
    produce(producers, records, &subject);
    millions_a_second(records, start)
}

fn longest_stall(records: u64) -> f64 {
    let subject = Subject::start(BufferOptions::default());
    produce(2, records, &subject);
    subject.buffer.statistics().longest_stall.as_secs_f64() * 1e6
}

fn through_rtrb(records: u64) -> f64 {
    let (mut push, mut pop) = rtrb::RingBuffer::<DispatchRecord>::new(131_072);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..records {
                let mut record = record(0, number);
                while let Err(rtrb::PushError::Full(back)) = push.push(record) {
                    record = back;
                    std::hint::spin_loop();
                }
            }
        });
        let mut next = 0;
        while next < records {
            if let Ok(record) = pop.pop() {
                assert!(record.run == next && record.kernel.0 == next as u32, "a record is missing or torn");
                next += 1;
            }
        }
    });
    millions_a_second(records, start)
}

fn through_a_channel(records: u64) -> f64 {
    let (send, receive) = crossbeam_channel::bounded::<DispatchRecord>(131_072);
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..records {
                send.send(record(0, number)).expect("it is received");
            }
        });
        for (next, record) in receive.iter().enumerate() {
            assert!(record.run == next as u64 && record.kernel.0 == next as u32, "a record is missing or torn");
        }
    });
    millions_a_second(records, start)
}
