//! Records of signal handlers: each is delivered or counted as dropped, and so is each record of the interrupted
//! thread. No call waits for the one that it interrupted.

mod interruptions;

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use interruptions::{Calls, Interruptions, guarded, interrupt};
use opscope_trace::{
    Buffer, BufferOptions, Bytes, CallbackThread, Category, Context, ExternalId, Kind, MarkerOperation, MarkerRecord,
    Operations, Policy, TraceError, counter, current_thread, emit, intern, interrupts_a_call, mark, mark_named,
    open_ranges, pop_external, push_external, range, range_named,
};

const OURS: Category = Category(8);
const OF_THREAD: u16 = 1;
const OF_HANDLER: u16 = 2;

/// How often a handler has to run in a test.
const ENOUGH: u64 = 3000;

fn options(size: u64, watermark: u64, policy: Policy) -> BufferOptions {
    BufferOptions { size: Bytes::new(size), watermark: Bytes::new(watermark), policy, ..BufferOptions::default() }
}

fn emit_number(buffer: &Buffer, kind: u16, calls: &Calls) {
    let number = calls.next();
    calls.note(&buffer.emit_bytes(OURS, kind, &number.to_le_bytes()));
}

#[test]
fn each_record_of_a_handler_and_of_the_thread_that_it_interrupts_is_delivered_once_or_counted() {
    guarded(|| {
        for (size, watermark, policy) in [
            (1 << 20, 1 << 17, Policy::Lossless),
            (64 << 10, 512, Policy::Lossless),
            (4096, 0, Policy::Lossless),
            (64 << 10, 4096, Policy::Discard),
            (64 << 10, 4096, Policy::Overwrite),
        ] {
            let seen = Arc::new(Mutex::new([BTreeSet::new(), BTreeSet::new()]));
            let all = Arc::clone(&seen);
            let buffer = Buffer::create(options(size, watermark, policy), move |batch| {
                let mut all = all.lock().expect("no check fails");
                for record in batch.records() {
                    let number = u64::from_le_bytes(record.payload().try_into().expect("8 bytes"));
                    let side = usize::from(record.header().kind - OF_THREAD);
                    assert!(all[side].insert(number), "record {number} came twice");
                }
            })
            .expect("the options are valid");
            let (of_thread, of_handler) = (Calls::default(), Arc::new(Calls::default()));
            let (calls, into) = (Arc::clone(&of_handler), buffer.clone());
            let interruptions = Interruptions::begin(move || emit_number(&into, OF_HANDLER, &calls));
            while of_handler.made() < ENOUGH {
                emit_number(&buffer, OF_THREAD, &of_thread);
            }
            drop(interruptions);
            buffer.flush().expect("it is not destroyed");
            let statistics = buffer.statistics();
            assert_eq!(statistics.panics, 0, "no record came twice");
            assert_eq!(of_thread.interrupted(), 0, "what is interrupted does its work");
            let seen = seen.lock().expect("no check failed");
            for (kind, calls) in [(OF_THREAD, &of_thread), (OF_HANDLER, &*of_handler)] {
                let counts = statistics.kinds[&(OURS, kind)];
                let delivered = seen[usize::from(kind - OF_THREAD)].len() as u64;
                assert_eq!((counts.delivered, counts.waiting), (delivered, 0), "{policy} {kind}");
                assert_eq!(counts.emitted, calls.made(), "{policy} {kind}");
                assert_eq!(counts.emitted, counts.delivered + counts.dropped, "{policy} {kind}");
                if policy == Policy::Lossless {
                    assert_eq!((counts.delivered, counts.dropped), (calls.taken(), calls.interrupted()), "{kind}");
                }
            }
            assert!(of_handler.taken() > 0, "a handler that interrupts no call emits as anyone does");
        }
    });
}

#[test]
fn markers_of_handlers_are_delivered_or_counted_whatever_call_they_interrupt() {
    guarded(|| {
        let number = intern("a handler's mark by its number");
        let buffer = Buffer::create(options(64 << 10, 4096, Policy::Lossless), |_| ()).expect("the options are valid");
        let context = Context::create();
        for kind in [Kind::Marker, Kind::Counter] {
            context.configure(kind, Operations::All, &buffer).expect("it has no such kind yet");
        }
        context.start().expect("it is not destroyed");
        let (markers, counters) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
        let (of_handler, samples) = (Arc::clone(&markers), Arc::clone(&counters));
        let interruptions = Interruptions::begin(move || {
            mark("a handler's mark");
            mark_named(number);
            drop(range("a handler's range"));
            drop(range_named(number));
            let operation = MarkerOperation::Mark as u32;
            let record = MarkerRecord { name: number, operation, ..MarkerRecord::default() };
            assert!(matches!(emit(&record), Ok(()) | Err(TraceError::Interrupted)));
            counter(number, 1.0);
            of_handler.add(5);
            samples.add(1);
        });
        let (mut own, mut round) = (0, 0);
        while counters.made() < ENOUGH {
            round += 1;
            let _range = range("what is interrupted");
            mark(&format!("a name that is new now and then: {}", round / 16));
            mark_named(number);
            push_external(ExternalId(round));
            assert_eq!(pop_external().map(|id| id.0), Some(round));
            assert!(open_ranges().records.len() < 10);
            if round % 8 == 0 {
                buffer.flush().expect("it is not destroyed");
            }
            let other = Context::create();
            other.start().expect("it is not destroyed");
            other.stop().expect("it is started");
            drop(buffer.statistics());
            own += 3;
        }
        drop(interruptions);
        buffer.flush().expect("it is not destroyed");
        let statistics = buffer.statistics();
        for (kind, expected) in [(Kind::Marker, own + markers.made()), (Kind::Counter, counters.made())] {
            let counts = statistics.kind(kind);
            assert_eq!((counts.emitted, counts.waiting), (expected, 0), "{kind}");
            assert_eq!(counts.emitted, counts.delivered + counts.dropped, "{kind}");
        }
        assert!(open_ranges().records.is_empty(), "every range was withdrawn");
    });
}

#[test]
fn handlers_emit_while_other_threads_stop_flush_and_fill_the_buffer() {
    guarded(|| {
        let buffer = Buffer::create(options(4096, 512, Policy::Lossless), |_| ()).expect("the options are valid");
        let (of_threads, of_handlers) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
        thread::scope(|scope| {
            let emitting: Vec<_> = (0..2)
                .map(|_| {
                    let (buffer, of_threads, of_handlers) = (&buffer, &of_threads, &of_handlers);
                    scope.spawn(move || {
                        let (calls, into) = (Arc::clone(of_handlers), buffer.clone());
                        let _interruptions = Interruptions::begin(move || emit_number(&into, OF_HANDLER, &calls));
                        while of_handlers.made() < ENOUGH {
                            emit_number(buffer, OF_THREAD, of_threads);
                        }
                    })
                })
                .collect();
            while !emitting.iter().all(|thread| thread.is_finished()) {
                buffer.flush_within(Duration::from_secs(60)).expect("no thread holds it up");
                drop(buffer.statistics());
            }
        });
        buffer.flush().expect("it is not destroyed");
        let statistics = buffer.statistics();
        for (kind, calls) in [(OF_THREAD, &of_threads), (OF_HANDLER, &of_handlers)] {
            let counts = statistics.kinds[&(OURS, kind)];
            assert_eq!((counts.delivered, counts.dropped), (calls.taken(), calls.interrupted()), "{kind}");
        }
        assert_eq!(of_threads.interrupted(), 0);
    });
}

#[test]
fn a_handler_interrupts_a_callback_thread_only_in_a_callback_so_that_nothing_waits_there_to_be_counted() {
    static INTERRUPTED_A_CALL: Mutex<Vec<bool>> = Mutex::new(Vec::new());
    extern "C" fn handler(_: std::ffi::c_int) {
        // The callback does not touch the list.
        INTERRUPTED_A_CALL.lock().expect("no panic").push(interrupts_a_call());
    }
    guarded(|| {
        let (tell, told) = channel();
        let options = BufferOptions {
            thread: CallbackThread::create("interrupted"),
            ..options(64 << 10, 4096, Policy::Lossless)
        };
        let buffer = Buffer::create(options, move |_| {
            tell.send(current_thread()).expect("the test waits");
        })
        .expect("the options are valid");
        let deliver = || {
            buffer.emit_bytes(OURS, OF_THREAD, &[0; 8]).expect("there is room");
            buffer.flush().expect("it is not destroyed");
            told.recv().expect("the callback ran")
        };
        let sleeper = deliver();
        for round in 1..=20 {
            interrupt(sleeper.0, handler);
            assert_eq!(deliver(), sleeper);
            assert_eq!(*INTERRUPTED_A_CALL.lock().expect("no panic"), vec![false; round]);
        }
    });
}
