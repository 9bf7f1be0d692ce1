//! What does a record cost whose kind is not traced?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::hint::black_box;

use measure::{Case, Contender, measured, nanos_each, title};
use opscope_trace::{BufferOptions, CounterRecord, Kind, emit, range, wanted};
use subject::Subject;

const BATCH: u64 = 100_000;

fn main() {
    // Other kinds are traced: this is not a program in which everything is off.
    let subject = Subject::start(BufferOptions::default());
    title("ns per record of a kind that is not traced");
    let [ours, _, _, floor] = measured(
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
    Case {
        case: "a kind that is not traced",
        value: ours.median(),
        unit: "ns",
        peer: "an empty loop",
        peer_value: Some(floor.median()),
        floor: Some(floor.median()),
        goal: "at most 1 ns".into(),
        met: ours.is_at_most(1.0),
    }
    .report();
}
