//! Contexts: what is traced, when tracing begins and ends, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use opscope_clock::{Ticks, Timestamp};
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{
    Buffer, BufferOptions, Bytes, Category, Context, CorrelationId, CounterRecord, DispatchRecord, EngineCallRecord,
    ExternalId, KernelIndex, Kind, MarkerRecord, Operation, Operations, Record, TraceError, correlate, counter,
    current_correlation, current_thread, emit, intern, mark, name_text, pop_external, push_external, range, wanted,
};
use opscope_trace::{EngineCallOperation, MarkerOperation};

/// Contexts are process-wide, so these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock()
}

/// Returns a buffer whose callback keeps the records of one kind.
fn keeper<R: Record + Copy + Send + 'static>() -> (Buffer, Arc<Mutex<Vec<R>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let buffer = Buffer::create(BufferOptions::default(), move |batch| {
        let mut kept = keep.lock();
        kept.extend(batch.records().filter_map(|record| record.get::<R>().copied()));
    });
    (buffer.expect("the options are valid"), kept)
}

fn taken<R>(buffer: &Buffer, kept: &Mutex<Vec<R>>) -> Vec<R> {
    buffer.flush().expect("it is not destroyed");
    std::mem::take(&mut kept.lock())
}

fn dispatch(run: u64) -> DispatchRecord {
    DispatchRecord { run, kernel: KernelIndex(3), ..DispatchRecord::default() }
}

#[test]
fn a_kind_is_wanted_while_a_context_with_it_is_started() {
    let _turn = turn();
    let (buffer, kept) = keeper::<DispatchRecord>();
    let context = Context::create();
    context.configure(Kind::OperatorDispatch, Operations::All, &buffer).expect("it is free");
    assert!(!wanted(Kind::OperatorDispatch));
    emit(&dispatch(1)).expect("its kind is not traced");
    context.start().expect("it is not destroyed");
    context.start().expect("starting twice is starting once");
    assert!(wanted(Kind::OperatorDispatch) && !wanted(Kind::Marker) && context.is_active());
    emit(&dispatch(2)).expect("there is room");
    emit(&CounterRecord::default()).expect("its kind is not traced");
    context.stop().expect("it is started");
    assert!(!wanted(Kind::OperatorDispatch) && !context.is_active());
    emit(&dispatch(3)).expect("its kind is not traced");
    context.start().expect("it is not destroyed");
    emit(&dispatch(4)).expect("there is room");
    drop(context);
    emit(&dispatch(5)).expect("its kind is not traced");
    let runs: Vec<u64> = taken(&buffer, &kept).iter().map(|record| record.run).collect();
    assert_eq!(runs, [2, 4]);
}

#[test]
fn contexts_get_the_kinds_and_operations_that_they_asked_for_into_their_own_buffers() {
    let _turn = turn();
    let (all, all_kept) = keeper::<EngineCallRecord>();
    let (some, some_kept) = keeper::<EngineCallRecord>();
    let (first, second) = (Context::create(), Context::create());
    first.configure(Kind::EngineCall, Operations::All, &all).expect("it is free");
    let only = [Operation(EngineCallOperation::Run as u32), Operation(EngineCallOperation::Load as u32)];
    second.configure(Kind::EngineCall, Operations::Only(&only), &some).expect("it is free");
    first.start().expect("it is not destroyed");
    let call = |operation| EngineCallRecord { operation, ..EngineCallRecord::default() };
    (0..5).for_each(|operation| emit(&call(operation)).expect("there is room"));
    second.start().expect("it is not destroyed");
    (0..5).for_each(|operation| emit(&call(operation)).expect("there is room"));
    first.stop().expect("it is started");
    (0..5).for_each(|operation| emit(&call(operation)).expect("there is room"));
    second.stop().expect("it is started");
    let operations = |records: Vec<EngineCallRecord>| records.iter().map(|record| record.operation).collect::<Vec<_>>();
    assert_eq!(operations(taken(&all, &all_kept)), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    assert_eq!(operations(taken(&some, &some_kept)), [0, 3, 0, 3]);
}

#[test]
fn misuse_is_refused_with_its_reason_and_changes_nothing() {
    let _turn = turn();
    let (buffer, kept) = keeper::<DispatchRecord>();
    let (other, _) = keeper::<DispatchRecord>();
    let (context, stranger) = (Context::create(), Context::create());
    let unknown = context.configure(Kind::Marker, Operations::Only(&[Operation(0), Operation(3)]), &buffer);
    assert!(matches!(unknown, Err(TraceError::UnknownOperation { kind: Kind::Marker, operation: Operation(3) })));
    assert_eq!(unknown.expect_err("it is one").to_string(), "marker has no operation 3; its operations are 0 to 2");
    context.configure(Kind::OperatorDispatch, Operations::All, &buffer).expect("it is free");
    let twice = context.configure(Kind::OperatorDispatch, Operations::All, &other);
    assert!(matches!(twice, Err(TraceError::KindConfigured { kind: Kind::OperatorDispatch, .. })));
    let foreign = stranger.configure(Kind::OperatorDispatch, Operations::All, &buffer);
    assert!(matches!(foreign, Err(TraceError::BufferOfAnotherContext { .. })));
    assert!(matches!(context.stop(), Err(TraceError::ContextNotStarted(_))));
    context.start().expect("it is not destroyed");
    emit(&dispatch(1)).expect("there is room");
    emit(&MarkerRecord::default()).expect("its kind is not traced");
    assert_eq!(taken(&buffer, &kept).len(), 1);
    buffer.destroy().expect("it is not destroyed");
    assert!(!wanted(Kind::OperatorDispatch), "a kind without a buffer is not traced");
    emit(&dispatch(2)).expect("its kind is not traced");
    other.destroy().expect("it is not destroyed");
    assert!(matches!(other.destroy(), Err(TraceError::BufferDestroyed(_))));
    assert!(matches!(other.flush(), Err(TraceError::BufferDestroyed(_))));
    let gone = stranger.configure(Kind::Run, Operations::All, &other);
    assert!(matches!(gone, Err(TraceError::BufferDestroyed(_))));
    assert!(stranger.is_valid());
    stranger.destroy().expect("it is not destroyed");
    assert!(!stranger.is_valid() && !stranger.is_active());
    assert!(matches!(stranger.start(), Err(TraceError::ContextDestroyed(_))));
    assert!(matches!(stranger.destroy(), Err(TraceError::ContextDestroyed(_))));
}

#[test]
fn no_record_comes_after_stop_has_returned_and_none_from_before_is_missing() {
    let _turn = turn();
    let (buffer, kept) = keeper::<DispatchRecord>();
    let context = Context::create();
    context.configure(Kind::OperatorDispatch, Operations::All, &buffer).expect("it is free");
    let (done, emitted) = (AtomicBool::new(false), [const { AtomicU64::new(0) }; 3]);
    std::thread::scope(|scope| {
        for (thread, emitted) in emitted.iter().enumerate() {
            let done = &done;
            scope.spawn(move || {
                let mut run = 0;
                while !done.load(Ordering::Relaxed) {
                    run += 1;
                    emit(&DispatchRecord { kernel: KernelIndex(thread as u32), ..dispatch(run) })
                        .expect("there is room");
                    // The record was emitted if the context was started.
                    emitted.store(run, Ordering::SeqCst);
                }
            });
        }
        for _ in 0..20 {
            context.start().expect("it is not destroyed");
            let before: Vec<u64> = emitted.iter().map(|emitted| emitted.load(Ordering::SeqCst)).collect();
            // Some records are certain to come while it is started.
            while emitted.iter().zip(&before).any(|(now, before)| now.load(Ordering::SeqCst) < before + 20) {
                std::thread::yield_now();
            }
            let sure: Vec<u64> = emitted.iter().map(|emitted| emitted.load(Ordering::SeqCst)).collect();
            context.stop().expect("it is started");
            let records = taken(&buffer, &kept);
            for (thread, (before, sure)) in before.iter().zip(sure).enumerate() {
                let runs: Vec<u64> =
                    records.iter().filter(|record| record.kernel.0 == thread as u32).map(|record| record.run).collect();
                assert!(runs.windows(2).all(|pair| pair[1] == pair[0] + 1), "in order, none missing");
                assert!(runs[0] <= before + 2 && *runs.last().expect("there are some") >= sure);
            }
            // Records that were emitted since then go nowhere.
            assert_eq!(taken(&buffer, &kept), []);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn ranges_marks_and_counters_carry_their_names_and_nest() {
    let _turn = turn();
    let (markers, kept) = keeper::<MarkerRecord>();
    let (counters, counted) = keeper::<CounterRecord>();
    let context = Context::create();
    context.configure(Kind::Marker, Operations::All, &markers).expect("it is free");
    context.configure(Kind::Counter, Operations::All, &counters).expect("it is free");
    context.start().expect("it is not destroyed");
    {
        let _outer = range("outer");
        mark("between");
        let _inner = range("inner");
    }
    counter(intern("tokens/s"), 12.5);
    context.stop().expect("it is started");
    let kept = taken(&markers, &kept);
    let marked: Vec<_> = kept
        .iter()
        .map(|marker| (name_text(marker.name).expect("it has a text").to_string(), marker.operation, marker.depth))
        .collect();
    let (mark, range) = (MarkerOperation::Mark as u32, MarkerOperation::Range as u32);
    assert_eq!(marked, [("between".into(), mark, 1), ("inner".into(), range, 1), ("outer".into(), range, 0)]);
    assert!(kept[2].start <= kept[0].start && kept[0].start <= kept[1].start && kept[1].end <= kept[2].end);
    assert!(kept[0].start == kept[0].end && kept[0].end >= kept[2].start, "a mark is a moment");
    let counted = taken(&counters, &counted);
    assert_eq!((counted[0].value, counted[0].thread), (12.5, current_thread()));
    assert_eq!(name_text(counted[0].name).as_deref(), Some("tokens/s"));
}

#[test]
fn kinds_that_share_a_buffer_are_told_apart_by_category_and_kind_and_nothing_else_is_cast() {
    let _turn = turn();
    let (sender, receiver) = std::sync::mpsc::channel();
    let buffer = Buffer::create(BufferOptions::default(), move |batch| {
        for record in batch.records() {
            // This reads as a tool does: the header first, then the payload as the header describes it.
            let header = record.header();
            let payload = match record.kind() {
                Some(Kind::OperatorDispatch) => record.get::<DispatchRecord>().map(|dispatch| dispatch.run),
                Some(Kind::Counter) => record.get::<CounterRecord>().map(|counter| counter.value as u64),
                Some(Kind::Marker) => record.get::<MarkerRecord>().map(|marker| marker.depth.into()),
                _ => None,
            };
            let casts = [
                (Kind::OperatorDispatch, record.get::<DispatchRecord>().is_some()),
                (Kind::Counter, record.get::<CounterRecord>().is_some()),
                (Kind::Marker, record.get::<MarkerRecord>().is_some()),
            ];
            assert!(casts.iter().all(|(kind, is_one)| *is_one == (record.kind() == Some(*kind))), "{header:?}");
            sender.send((header.category, header.kind, header.length, payload)).expect("the test receives");
        }
    });
    let buffer = buffer.expect("the options are valid");
    let context = Context::create();
    for kind in [Kind::OperatorDispatch, Kind::Counter, Kind::Marker] {
        context.configure(kind, Operations::All, &buffer).expect("it is free");
    }
    context.start().expect("it is not destroyed");
    let foreign = Category(200);
    let mut expected = Vec::new();
    for turn in 0..50 {
        let mut expect =
            |category, kind, length: usize, payload| expected.push((category, kind, length as u16, payload));
        emit(&dispatch(turn)).expect("there is room");
        let length = size_of::<DispatchRecord>();
        expect(Category::TRACING, Kind::OperatorDispatch.as_raw(), length, Some(turn));
        emit(&CounterRecord { value: turn as f64, ..CounterRecord::default() }).expect("there is room");
        expect(Category::TRACING, Kind::Counter.as_raw(), size_of::<CounterRecord>(), Some(turn));
        // A tool's own record, with the number and the length of a dispatch.
        let own = Kind::OperatorDispatch.as_raw();
        buffer.emit_bytes(foreign, own, &vec![0; length]).expect("there is room");
        expect(foreign, own, length, None);
        emit(&MarkerRecord { depth: turn as u32, ..MarkerRecord::default() }).expect("there is room");
        expect(Category::TRACING, Kind::Marker.as_raw(), size_of::<MarkerRecord>(), Some(turn));
        // No kind has this number.
        buffer.emit_bytes(Category::TRACING, 999, &[0; 8]).expect("there is room");
        expect(Category::TRACING, 999, 8, None);
    }
    context.stop().expect("it is started");
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), expected);
    assert_eq!(buffer.statistics().panics, 0);
}

#[test]
fn correlation_ids_of_a_thread_nest_and_end() {
    assert_eq!(current_correlation().external, ExternalId(0));
    assert_eq!(pop_external(), None);
    push_external(ExternalId(5));
    push_external(ExternalId(6));
    {
        let _outer = correlate();
        let outer = current_correlation().internal;
        {
            let _inner = correlate();
            assert_ne!(current_correlation().internal, outer);
        }
        assert_eq!(current_correlation().internal, outer);
        assert_eq!(current_correlation().external, ExternalId(6));
        let elsewhere = std::thread::spawn(current_correlation).join().expect("it looks");
        assert_eq!(elsewhere.external, ExternalId(0), "the stack is this thread's");
    }
    let (first, second) = (correlate(), correlate());
    let inner = current_correlation().internal;
    drop(first);
    assert_eq!(current_correlation().internal, inner, "the guard that is left has its id");
    drop(second);
    assert_eq!(current_correlation().internal, CorrelationId(0), "no retired id is left");
    assert_eq!(pop_external(), Some(ExternalId(6)));
    assert_eq!(pop_external(), Some(ExternalId(5)));
    assert_eq!(current_correlation().external, ExternalId(0));
}

#[test]
fn a_full_buffer_of_a_context_that_stops_blocks_no_thread() {
    let _turn = turn();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let options = BufferOptions { size: Bytes::new(512), watermark: Bytes::new(64), ..BufferOptions::default() };
    let buffer = Buffer::create(options, move |_| assert!(held.recv().is_err())).expect("the options are valid");
    let context = Context::create();
    context.configure(Kind::OperatorDispatch, Operations::All, &buffer).expect("it is free");
    context.start().expect("it is not destroyed");
    std::thread::scope(|scope| {
        scope.spawn(|| (0..100).for_each(|run| emit(&dispatch(run)).expect("it waits for room, or the end")));
        while buffer.statistics().stalls == 0 {
            std::thread::yield_now();
        }
        context.stop().expect("it is started");
    });
    drop(release);
    buffer.flush().expect("it is not destroyed");
    let total = buffer.statistics().total();
    assert_eq!((total.emitted, total.delivered, total.dropped), (9, 8, 1), "the one that waited is counted");
}

#[test]
fn the_ticks_of_a_batch_become_the_time_at_which_they_were_read() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let buffer = Buffer::create(BufferOptions::default(), move |batch| {
        let calibration = batch.calibration();
        let markers = batch.records().filter_map(|record| record.get::<MarkerRecord>().copied());
        markers.for_each(|marker| sender.send(calibration.timestamp(marker.start)).expect("the test receives"));
    });
    let buffer = buffer.expect("the options are valid");
    let before = Timestamp::now();
    buffer.emit(&MarkerRecord { start: Ticks::now(), ..MarkerRecord::default() }).expect("there is room");
    let after = Timestamp::now();
    buffer.flush().expect("it is not destroyed");
    let time = receiver.recv().expect("a callback came").as_nanos();
    // A millisecond is allowed for reading the two clocks. A wrong unit would be off by far more.
    assert!(time + 1_000_000 >= before.as_nanos() && time <= after.as_nanos() + 1_000_000);
}
