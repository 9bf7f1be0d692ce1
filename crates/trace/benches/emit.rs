//! What does a 64-byte record cost, without its timestamp, on one thread?

mod measure;
#[path = "measure/subject.rs"]
mod subject;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Mutex;

use measure::{nanos_each, run_on};
use opscope_bench::{Case, Contender, Goal, Rounds, finish};
use opscope_trace::{BufferOptions, DispatchRecord, emit};
use subject::{Subject, record};
use tracing_subscriber::layer::SubscriberExt;

const BATCH: u64 = 10_000;

struct Nothing;
impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Nothing {}

fn main() -> ExitCode {
    run_on(0);
    let subject = Subject::start_with(BufferOptions::default(), || run_on(1));
    let mut number = 0;
    let (mut push, mut pop) = rtrb::RingBuffer::<DispatchRecord>::new(131_072);
    let (send, receive) = crossbeam_channel::bounded::<DispatchRecord>(131_072);
    let vector = Mutex::new(Vec::with_capacity(131_072));
    let registry = tracing_subscriber::registry().with(Nothing);
    let _default = tracing::subscriber::set_default(registry);
    let mut slot = Box::new([0u64; 8]);
    let mut region = vec![0u64; 1 << 20];
    let mut at = 0;
    let source = [1u64; 8];

    const OURS: usize = 0;
    const RTRB: usize = 1;
    const STORE: usize = 2;
    let goal = Goal::AtMost(2.0);
    let mut rounds = Rounds::new(
        101,
        [
            Contender::new("opscope emit", || {
                let first = number;
                number += BATCH;
                let cost = nanos_each(BATCH, |index| emit(&record(0, first + index)).expect("there is room"));
                subject.buffer.flush().expect("it is not destroyed");
                cost
            }),
            Contender::new("rtrb push", || {
                let cost = nanos_each(BATCH, |number| push.push(record(0, number)).expect("there is room"));
                while let Ok(record) = pop.pop() {
                    black_box(record);
                }
                cost
            }),
            Contender::new("floor: a hot 64-byte store", || {
                nanos_each(BATCH, |number| {
                    *black_box(&mut *slot) = [number; 8];
                })
            }),
            Contender::new("floor: memcpy of 64 bytes into an 8 MiB ring", || {
                nanos_each(BATCH, |_| {
                    region[at..at + 8].copy_from_slice(black_box(&source));
                    at = (at + 8) % (1 << 20);
                })
            }),
        ],
    );
    let judged = rounds.decide_ratio(goal, OURS, RTRB);
    rounds.print("ns per 64-byte record, one thread");
    Case {
        bench: "records",
        case: format!("emit 64 bytes, no timestamp, 1 thread, {:.2} ns", rounds.cost(OURS).value),
        judged,
        unit: "x",
        peer: ("rtrb push, ns", rounds.cost(RTRB).value),
        floor: Some(rounds.cost(STORE).value),
        goal,
    }
    .print();
    drop(rounds);
    let mut others = Rounds::new(
        31,
        [
            Contender::new("crossbeam-channel send", || {
                let cost = nanos_each(BATCH, |number| send.try_send(record(0, number)).expect("there is room"));
                receive.try_iter().for_each(|record| assert!(black_box(record).device == 0));
                cost
            }),
            Contender::new("Mutex<Vec> push", || {
                let cost = nanos_each(BATCH, |number| vector.lock().expect("no thread panics").push(record(0, number)));
                black_box(&vector).lock().expect("no thread panics").clear();
                cost
            }),
            Contender::new("tracing span, a layer that does nothing", || {
                nanos_each(BATCH, |number| {
                    let _span = tracing::info_span!("dispatch", number).entered();
                })
            }),
        ],
    );
    others.more();
    others.print("other ways");
    drop(others);
    // The last one, because its collector thread runs from here on.
    fastrace::set_reporter(fastrace::collector::ConsoleReporter, fastrace::collector::Config::default());
    let mut spans = Rounds::new(
        31,
        [Contender::new("fastrace local span", || {
            let root = fastrace::Span::root("run", fastrace::prelude::SpanContext::random());
            let _guard = root.set_local_parent();
            let cost = nanos_each(2_000, |_| {
                let _span = fastrace::local::LocalSpan::enter_with_local_parent("dispatch");
            });
            root.cancel();
            cost
        })],
    );
    spans.more();
    spans.print("spans");
    finish()
}
