//! How long does a flush of one record take, and does it depend on the buffer's size?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use measure::{Case, Contender, Measured, measured, run_on, title};
use opscope_trace::{BufferOptions, Bytes};
use subject::{Subject, record};

/// Measured one at a time, each after the other thread has gone to sleep.
const PAUSE: std::time::Duration = std::time::Duration::from_micros(50);

fn main() {
    // The same placement for both: the caller on one processor, the other thread on another.
    run_on(0);
    let buffers = [64 << 10, 8 << 20, 256 << 20].map(|size| {
        let options = BufferOptions { size: Bytes::new(size), watermark: Bytes::new(size), ..BufferOptions::default() };
        let subject = Subject::start_with(options, || run_on(1));
        (subject, 0)
    });
    let [mut small, mut middle, mut large] = buffers;
    let trip = RoundTrip::start();
    title("us for a flush of one record");
    let [_, ours, large, floor] = measured(
        401,
        [
            Contender::new("opscope, 64 KiB", || flush_one(&mut small)),
            Contender::new("opscope, 8 MiB", || flush_one(&mut middle)),
            Contender::new("opscope, 256 MiB", || flush_one(&mut large)),
            Contender::new("floor: a futex round trip", || trip.once()),
        ],
    );
    let case = |case, ours: &Measured, other: &Measured, peer, goal| Case {
        case,
        value: ours.median(),
        unit: "us",
        peer,
        peer_value: Some(other.median()),
        floor: Some(floor.median()),
        goal,
        met: false,
    };
    Case {
        met: ours.is_within(1.5, &floor),
        ..case(
            "flush of 1 record in an 8 MiB buffer",
            &ours,
            &floor,
            "a futex round trip",
            format!("at most 1.5 x a futex round trip = {:.1} us", 1.5 * floor.median()),
        )
    }
    .report();
    Case {
        met: large.is_within(1.2, &ours),
        ..case(
            "flush of 1 record in a 256 MiB buffer",
            &large,
            &ours,
            "the same in 8 MiB",
            format!("as in 8 MiB, give or take 20 % = {:.1} us", 1.2 * ours.median()),
        )
    }
    .report();
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
