//! How long does a flush of one record take, and does it depend on the buffer's size?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use measure::run_on;
use opscope_bench::{Case, Contender, Goal, Rounds, finish};
use opscope_trace::{BufferOptions, Bytes};
use subject::{Subject, record};

/// Measured one at a time, each after the other thread has gone to sleep.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(50);

fn main() -> ExitCode {
    // The same placement for both: the caller on one processor, the other thread on another.
    run_on(0);
    let buffers = [64 << 10, 8 << 20, 256 << 20].map(|size| {
        let options = BufferOptions { size: Bytes::new(size), watermark: Bytes::new(size), ..BufferOptions::default() };
        let subject = Subject::start_with(options, || run_on(1));
        (subject, 0)
    });
    let [mut small, mut middle, mut large] = buffers;
    let trip = RoundTrip::start();
    const MIDDLE: usize = 1;
    const LARGE: usize = 2;
    const TRIP: usize = 3;
    let mut rounds = Rounds::new(
        401,
        [
            Contender::new("opscope, 64 KiB", || flush_one(&mut small)),
            Contender::new("opscope, 8 MiB", || flush_one(&mut middle)),
            Contender::new("opscope, 256 MiB", || flush_one(&mut large)),
            Contender::new("floor: a futex round trip", || trip.once()),
        ],
    );
    for (size, ours, peer, name, most) in [
        ("an 8 MiB", MIDDLE, TRIP, "a futex round trip, us", 1.5),
        ("a 256 MiB", LARGE, MIDDLE, "the same in 8 MiB, us", 1.2),
    ] {
        let goal = Goal::AtMost(most);
        let judged = rounds.decide_ratio(goal, ours, peer);
        Case {
            bench: "records",
            case: format!("flush of 1 record in {size} buffer, {:.1} us", rounds.cost(ours).value),
            judged,
            unit: "x",
            peer: (name, rounds.cost(peer).value),
            floor: Some(rounds.cost(TRIP).value),
            goal,
        }
        .print();
    }
    rounds.print("us for a flush of one record");
    finish()
}

fn flush_one((subject, number): &mut (Subject, u64)) -> f64 {
    subject.buffer.emit(&record(0, *number)).expect("there is room");
    *number += 1;
    std::thread::sleep(PAUSE);
    let start = Instant::now();
    subject.buffer.flush().expect("it is not destroyed");
    start.elapsed().as_nanos() as f64 / 1e3
}

/// Measures two threads that wake each other by a mutex and a condition variable, which are a futex each.
struct RoundTrip(Arc<(Mutex<u64>, Condvar)>);

impl RoundTrip {
    fn start() -> Self {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            run_on(1);
            let (turn, changed) = &*theirs;
            let mut turn = turn.lock().expect("no thread panics");
            loop {
                while *turn % 2 == 0 {
                    turn = changed.wait(turn).expect("no thread panics");
                }
                *turn += 1;
                changed.notify_all();
            }
        });
        Self(shared)
    }

    fn once(&self) -> f64 {
        std::thread::sleep(PAUSE);
        let (turn, changed) = &*self.0;
        let start = Instant::now();
        let mut turn = turn.lock().expect("no thread panics");
        *turn += 1;
        changed.notify_all();
        while *turn % 2 == 1 {
            turn = changed.wait(turn).expect("no thread panics");
        }
        start.elapsed().as_nanos() as f64 / 1e3
    }
}
