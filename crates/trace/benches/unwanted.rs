//! What does a record cost whose kind is not traced?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::hint::black_box;
use std::process::ExitCode;

use measure::nanos_each;
use opscope_bench::{Case, Contender, Goal, Judged, Rounds, decide, finish};
use opscope_trace::{BufferOptions, CounterRecord, Kind, emit, range, wanted};
use subject::Subject;

const BATCH: u64 = 100_000;

fn main() -> ExitCode {
    // Other kinds are traced, so this is not the cost in a program in which all tracing is off.
    let subject = Subject::start(BufferOptions::default());
    const OURS: usize = 0;
    const LOOP: usize = 3;
    let goal = Goal::AtMost(1.0);
    let mut rounds = Rounds::new(
        101,
        [
            Contender::new("opscope emit", || {
                nanos_each(BATCH, |number| {
                    emit(&CounterRecord { value: number as f64, ..CounterRecord::default() })
                        .expect("its kind is not traced");
                })
            }),
            Contender::new("opscope wanted", || {
                nanos_each(BATCH, |_| {
                    black_box(wanted(Kind::Counter));
                })
            }),
            Contender::new("opscope range, markers not traced", || {
                subject.context.stop().expect("it is started");
                let cost = nanos_each(BATCH, |_| drop(black_box(range("decode"))));
                subject.context.start().expect("it is not destroyed");
                cost
            }),
            Contender::new("floor: an empty loop", || {
                nanos_each(BATCH, |number| {
                    black_box(number);
                })
            }),
        ],
    );
    let judged = decide(goal, || {
        rounds.more();
        Judged { measured: rounds.cost(OURS), noise: rounds.difference(OURS, OURS).noise }
    });
    rounds.print("ns per record of a kind that is not traced");
    let floor = rounds.cost(LOOP).value;
    let case = "a kind that is not traced".to_owned();
    Case { bench: "records", case, judged, unit: "ns", peer: ("an empty loop, ns", floor), floor: Some(floor), goal }
        .print();
    finish()
}
