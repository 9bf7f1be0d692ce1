//! Many threads, callback threads, and callbacks that do what callbacks should not.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use opscope_trace::{
    Batch, Buffer, BufferOptions, Bytes, CallbackThread, Category, Policy, RecordRef, TraceError, emit_by_id,
    on_callback_thread_creation,
};

const OURS: Category = Category(8);

fn options(size: u64, watermark: u64) -> BufferOptions {
    BufferOptions { size: Bytes::new(size), watermark: Bytes::new(watermark), ..BufferOptions::default() }
}

fn emit(buffer: &Buffer, thread: u64, number: u64) -> Result<(), TraceError> {
    buffer.emit_bytes(OURS, (number % 3) as u16, &(thread << 32 | number).to_le_bytes())
}

/// Checks that each thread's numbers come in order and without a gap.
fn check_order(batch: &Batch<'_>, next: &mut BTreeMap<u64, u64>) {
    for record in batch.records() {
        let word = u64::from_le_bytes(record.payload().try_into().expect("8 bytes"));
        let next = next.entry(word >> 32).or_default();
        assert_eq!(word & 0xffff_ffff, *next, "of thread {}", word >> 32);
        *next += 1;
    }
}

#[test]
fn many_threads_over_one_small_buffer_lose_nothing_and_keep_their_order() {
    for (threads, size, watermark) in [(64, 4096, 48), (64, 4096, 4096), (64, 8, 8), (7, 512, 0), (64, 65_536, 1000)] {
        let next = Arc::new(Mutex::new(BTreeMap::new()));
        let check = Arc::clone(&next);
        let buffer = Buffer::create(options(size, watermark), move |batch| {
            check_order(batch, &mut check.lock().expect("no check fails"));
        })
        .expect("the options are valid");
        thread::scope(|scope| {
            for thread in 0..threads {
                let buffer = &buffer;
                scope.spawn(move || {
                    (0..500).for_each(|number| emit(buffer, thread, number).expect("it waits for room"));
                });
            }
        });
        buffer.flush().expect("it is not destroyed");
        let statistics = buffer.statistics();
        assert_eq!((statistics.total().delivered, statistics.total().dropped), (threads * 500, 0));
        assert_eq!(statistics.panics, 0, "every record in order");
        assert!(next.lock().expect("no check fails").values().all(|next| *next == 500));
    }
}

#[test]
fn two_hundred_idle_threads_hold_no_room() {
    let buffer = Buffer::create(BufferOptions { policy: Policy::Discard, ..options(4096, 4096) }, |_| ());
    let buffer = buffer.expect("the options are valid");
    let (emitted, wait) = channel();
    let hold = Arc::new(Mutex::new(()));
    let held = hold.lock().expect("no other test has it");
    let threads: Vec<_> = (0..200)
        .map(|thread| {
            let (buffer, emitted, hold) = (buffer.clone(), emitted.clone(), Arc::clone(&hold));
            thread::spawn(move || {
                emit(&buffer, thread, 0).expect("there is room");
                emitted.send(()).expect("the test receives");
                drop(hold.lock());
            })
        })
        .collect();
    (0..200).for_each(|_| wait.recv().expect("each thread emits"));
    (0..320).for_each(|number| emit(&buffer, 999, number % 312).expect("it is dropped or not"));
    let total = buffer.statistics().total();
    assert_eq!((total.waiting, total.dropped), (512, 8), "all of the room was there for one thread");
    drop(held);
    threads.into_iter().for_each(|thread| thread.join().expect("it did what it should"));
}

#[test]
fn a_flush_delivers_what_any_thread_emitted_before() {
    let delivered = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&delivered);
    let buffer = Buffer::create(options(1 << 20, 1 << 20), move |batch| {
        count.fetch_add(batch.len(), Ordering::SeqCst);
    });
    let buffer = buffer.expect("the options are valid");
    let emitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..3 {
            let (buffer, emitted) = (&buffer, &emitted);
            scope.spawn(move || {
                for number in 0..20_000 {
                    emit(buffer, thread, number).expect("it waits for room");
                    emitted.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for _ in 0..200 {
            let before = emitted.load(Ordering::SeqCst);
            buffer.flush().expect("it is not destroyed");
            assert!(delivered.load(Ordering::SeqCst) >= before);
        }
    });
    // The buffer is never full, so only a flush delivers.
    buffer.flush().expect("it is not destroyed");
    assert_eq!(delivered.load(Ordering::SeqCst), 60_000);
}

#[test]
fn a_flush_with_a_timeout_ends_with_it_and_the_delivery_continues() {
    let (release, held) = channel::<()>();
    let buffer = Buffer::create(BufferOptions { thread: CallbackThread::create("slow"), ..options(4096, 4096) }, {
        move |_| held.recv().expect("the test releases it")
    });
    let buffer = buffer.expect("the options are valid");
    emit(&buffer, 0, 0).expect("there is room");
    assert!(matches!(buffer.flush_within(Duration::from_millis(20)), Err(TraceError::TimedOut(_))));
    release.send(()).expect("the callback waits");
    buffer.flush_within(Duration::from_secs(60)).expect("nothing holds it");
    assert_eq!(buffer.statistics().total().delivered, 1);
}

#[test]
fn an_interval_delivers_what_stays_below_the_watermark() {
    let (sender, receiver) = channel();
    let interval = Duration::from_millis(50);
    let options = BufferOptions { interval: Some(interval), ..options(4096, 4096) };
    let buffer = Buffer::create(options, move |batch| {
        // The test may have ended.
        let _ = sender.send(batch.len());
    });
    let buffer = buffer.expect("the options are valid");
    let start = Instant::now();
    for _ in 0..11 {
        emit(&buffer, 0, 0).expect("there is room");
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(1));
    }
    // In real time: at least ten intervals, and less than ten times as long. Other tests check the exact moments, on a
    // clock that they advance.
    let took = start.elapsed();
    assert!((interval * 10..interval * 100).contains(&took), "11 flushes took {took:?}");
}

#[test]
fn an_interval_can_be_set_changed_and_ended_later() {
    let (sender, receiver) = channel();
    let buffer = Buffer::create(options(4096, 4096), move |batch| {
        // The test may have ended.
        let _ = sender.send(batch.len());
    });
    let buffer = buffer.expect("the options are valid");
    assert!(matches!(buffer.set_interval(Some(Duration::ZERO)), Err(TraceError::ZeroInterval)));
    for interval in [Duration::from_secs(3600), Duration::from_millis(5), Duration::from_millis(7)] {
        buffer.set_interval(Some(interval)).expect("it is not destroyed");
    }
    emit(&buffer, 0, 0).expect("there is room");
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(1));
    buffer.set_interval(None).expect("it is not destroyed");
    buffer.flush().expect("it is not destroyed");
    emit(&buffer, 0, 1).expect("there is room");
    emit(&buffer, 0, 2).expect("there is room");
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(2), "nothing came between the two");
}

#[test]
fn a_flush_that_is_requested_in_the_callback_follows_it() {
    let (sender, receiver) = channel();
    let own = Arc::new(OnceLock::<Buffer>::new());
    let inside = Arc::clone(&own);
    let buffer = Buffer::create(options(4096, 4096), move |batch| {
        if batch.first() == 0 {
            let buffer = inside.get().expect("it was set");
            emit(buffer, 0, 1).expect("there is room");
            buffer.request_flush();
        }
        // The test may have ended.
        let _ = sender.send(batch.len());
    });
    let buffer = buffer.expect("the options are valid");
    own.set(buffer.clone()).expect("it is not set");
    emit(&buffer, 0, 0).expect("there is room");
    buffer.request_flush();
    for _ in 0..2 {
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(1));
    }
}

#[test]
fn a_callback_that_is_requested_comes_with_an_empty_batch_and_flushes_and_the_end_wait_for_it() {
    for ends in [false, true] {
        let (sender, receiver) = channel();
        let own = Arc::new(OnceLock::<Buffer>::new());
        let inside = Arc::clone(&own);
        let buffer = Buffer::create(options(4096, 4096), move |batch| {
            if batch.first() == 0 {
                inside.get().expect("it was set").request_callback().expect("it is not destroyed");
            }
            sender.send((batch.first(), batch.len(), batch.records().count())).expect("the test receives");
        });
        let buffer = own.get_or_init(|| buffer.expect("the options are valid"));
        // No record waits after the first batch: all space is used by its records.
        (0..512).for_each(|number| emit(buffer, 0, number).expect("there is room"));
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok((0, 512, 512)));
        if ends { buffer.destroy() } else { buffer.flush() }.expect("it is not destroyed");
        assert_eq!(receiver.try_recv(), Ok((512, 0, 0)));
        assert_eq!(buffer.request_callback().is_err(), ends);
        if !ends {
            buffer.flush().expect("it is not destroyed");
            assert_eq!(receiver.try_recv(), Ok((512, 0, 0)));
            buffer.flush().expect("it is not destroyed");
            assert!(receiver.try_recv().is_err(), "no other flush makes an empty callback");
        }
    }
}

#[test]
fn no_smaller_record_overtakes_one_that_a_callback_keeps() {
    let (sender, receiver) = channel();
    let own = Arc::new(OnceLock::<Buffer>::new());
    let inside = Arc::clone(&own);
    let buffer = Buffer::create(options(4096, 4096), move |batch| {
        if batch.first() == 0 {
            let buffer = inside.get().expect("it was set");
            let mut emitted = 0;
            while buffer.emit_bytes(OURS, 1, &[1; 64]).is_ok() {
                emitted += 1;
            }
            // There is space for this record, but it must not be written without the lock, because the caller keeps an
            // earlier one.
            let is_overtaking = emit_by_id(buffer.id(), OURS, 1, &[1; 8]);
            sender
                .send((emitted, is_overtaking, buffer.emit_bytes(OURS, 1, &[1; 8]).is_ok()))
                .expect("the test receives");
        }
    });
    let buffer = own.get_or_init(|| buffer.expect("the options are valid"));
    // Emitted by a thread that ends, so that the callback's thread gets all the space.
    thread::scope(|scope| scope.spawn(|| emit(buffer, 0, 0).expect("there is room")).join().expect("it emits"));
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.try_recv(), Ok((63, false, true)), "63 of 64 bytes and two of 8 leave 48 of 4096");
}

#[test]
fn a_slow_callback_delays_only_its_own_thread() {
    let (release, held) = channel::<()>();
    let slow = CallbackThread::create("slow");
    let stuck = Buffer::create(BufferOptions { thread: slow.clone(), ..options(4096, 0) }, move |_| {
        held.recv().expect("the test releases it");
    });
    let stuck = stuck.expect("the options are valid");
    emit(&stuck, 0, 0).expect("there is room");
    let other = Buffer::create(options(4096, 4096), |_| ()).expect("the options are valid");
    emit(&other, 0, 0).expect("there is room");
    other.flush().expect("its thread is free");
    other.assign(&slow).expect("it is not destroyed");
    emit(&other, 0, 1).expect("there is room");
    assert!(matches!(other.flush_within(Duration::from_millis(20)), Err(TraceError::TimedOut(_))));
    other.assign(&CallbackThread::create("free")).expect("it is not destroyed");
    other.flush_within(Duration::from_secs(60)).expect("its thread is free again");
    release.send(()).expect("the callback waits");
    stuck.flush().expect("nothing holds it");
    assert_eq!((stuck.statistics().callbacks, other.statistics().callbacks), (1, 2));
}

#[test]
fn a_callback_that_panics_is_counted_and_the_next_one_comes() {
    let (sender, receiver) = channel();
    let buffer = Buffer::create(options(4096, 8), move |batch| {
        let first = batch.records().next().expect("a batch is never empty");
        sender.send(first.payload()[0]).expect("the test receives");
        assert!(first.payload()[0] != 1, "this panic is part of the test");
    });
    let buffer = buffer.expect("the options are valid");
    (0..3).for_each(|number| emit(&buffer, 0, number).expect("there is room"));
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [0, 1, 2]);
    let statistics = buffer.statistics();
    assert_eq!((statistics.callbacks, statistics.panics, statistics.total().delivered), (3, 1, 3));
}

#[test]
fn a_callback_may_do_anything_to_its_own_buffer_and_never_hangs() {
    let this: Arc<OnceLock<Buffer>> = Arc::default();
    let (sender, receiver) = channel();
    let inside = Arc::clone(&this);
    let buffer = Buffer::create(options(512, 8), move |batch| {
        let buffer = inside.get().expect("it is set before the first record");
        let first = batch.records().next().expect("a batch is never empty").payload()[0];
        let error = match first {
            0 => buffer.flush().err().map(|error| error.to_string()),
            1 => (0..1000).find_map(|number| emit(buffer, 1, 100 + number).err()).map(|error| error.to_string()),
            2 => buffer.destroy().err().map(|error| error.to_string()),
            _ => return,
        };
        sender.send((first, error)).expect("the test receives");
    });
    let buffer = this.get_or_init(|| buffer.expect("the options are valid"));
    let id = buffer.id();
    emit(buffer, 0, 0).expect("there is room");
    let received = receiver.recv_timeout(Duration::from_secs(60)).expect("it does not hang");
    let busy = format!("{id} is delivering on this very thread; flush and wait outside of its callback");
    assert_eq!(received, (0, Some(busy)));
    emit(buffer, 0, 1).expect("there is room");
    let received = receiver.recv_timeout(Duration::from_secs(60)).expect("it does not hang");
    let full = format!(
        "{id} is full, and only the callback that emits this record could free room; emit into another buffer, or make this one larger"
    );
    assert_eq!(received, (1, Some(full)));
    buffer.flush().expect("it is not destroyed");
    let total = buffer.statistics().total();
    assert_eq!(total.emitted, total.delivered + total.dropped);
    assert_eq!(total.dropped, 1, "the record that did not fit");
    emit(buffer, 0, 2).expect("there is room");
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)).expect("it does not hang"), (2, None));
    assert!(matches!(emit(buffer, 0, 3), Err(TraceError::BufferDestroyed(_))));
}

#[test]
fn callbacks_that_wait_for_each_other_do_not_hang() {
    for _ in 0..20 {
        let buffers: Arc<OnceLock<[Buffer; 2]>> = Arc::default();
        let make = |index: usize| {
            let buffers = Arc::clone(&buffers);
            let thread = CallbackThread::create("mutual");
            Buffer::create(BufferOptions { thread, ..options(512, 8) }, move |_| {
                let other = &buffers.get().expect("it is set before the first record")[1 - index];
                // One of the two may get an error because it would wait forever. Neither waits forever.
                let _ = other.flush();
                for number in 0..200 {
                    // The other one may be full.
                    let _ = emit(other, 9, number).map_err(|_| other.destroy());
                }
            })
            .expect("the options are valid")
        };
        let pair = [make(0), make(1)];
        let [first, second] = buffers.get_or_init(|| pair);
        emit(first, 0, 0).expect("there is room");
        // The other one may be destroyed already.
        let _ = emit(second, 0, 0);
        // This ends when one of the buffers is destroyed, because the callbacks keep filling each other's buffer.
        while first.emit_bytes(OURS, 1, &[1]).is_ok() && second.emit_bytes(OURS, 1, &[1]).is_ok() {}
        let _ = (first.destroy(), second.destroy());
    }
}

/// The name and the id of a callback's thread, and the numbers in the records that the callback received.
type Delivered = (String, thread::ThreadId, Vec<u64>);

/// Returns a buffer that reports what it delivers, and on which thread.
fn reporting(options: BufferOptions) -> (Buffer, Receiver<Delivered>) {
    let (sender, receiver) = channel();
    let buffer = Buffer::create(options, move |batch| {
        let word = |record: RecordRef<'_>| u64::from_le_bytes(record.payload().try_into().expect("8 bytes"));
        // This is the system's name, because the thread was not started by the standard library.
        let name = fs::read_to_string("/proc/thread-self/comm").expect("it has a name");
        let delivered = (name.trim_end().to_owned(), thread::current().id(), batch.records().map(word).collect());
        sender.send(delivered).expect("the test receives");
    });
    (buffer.expect("the options are valid"), receiver)
}

#[test]
fn buffers_that_name_no_thread_are_delivered_by_one_that_is_not_the_emitting_one() {
    let [(first, of_first), (second, of_second)] = [(); 2].map(|()| reporting(options(4096, 24)));
    for (number, buffer) in [(0, &first), (10, &second), (20, &first), (30, &second)] {
        (number..number + 3).for_each(|number| emit(buffer, 0, number).expect("there is room"));
        // One batch is delivered before the next one begins, so that each has the three records of its watermark.
        buffer.flush().expect("it is not destroyed");
    }
    let all: Vec<Delivered> = of_first.try_iter().chain(of_second.try_iter()).collect();
    let numbers: Vec<_> = all.iter().map(|(.., numbers)| numbers.as_slice()).collect();
    assert_eq!(numbers, [[0, 1, 2], [20, 21, 22], [10, 11, 12], [30, 31, 32]]);
    assert!(all.iter().all(|(_, thread, _)| *thread == all[0].1), "one thread for both: {all:?}");
    assert_ne!(all[0].1, thread::current().id(), "and not the one that emitted");
}

#[test]
fn a_created_thread_delivers_every_record_of_the_buffers_that_were_created_with_it() {
    let created = CallbackThread::create("created");
    let with = || reporting(BufferOptions { thread: created.clone(), ..options(4096, 16) });
    let [(first, of_first), (second, of_second)] = [with(), with()];
    let (other, of_other) = reporting(options(4096, 16));
    for buffer in [&first, &second, &other] {
        (0..100).for_each(|number| emit(buffer, 0, number).expect("it waits for room"));
        buffer.flush().expect("it is not destroyed");
    }
    let mut threads = Vec::new();
    for delivered in [of_first, of_second, of_other] {
        let all: Vec<Delivered> = delivered.try_iter().collect();
        let numbers: Vec<u64> = all.iter().flat_map(|(.., numbers)| numbers.iter().copied()).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert!(all.iter().all(|(name, thread, _)| (name, thread) == (&all[0].0, &all[0].1)), "one thread: {all:?}");
        threads.push((all[0].0.clone(), all[0].1));
    }
    assert_eq!(threads[0], threads[1], "both buffers' callbacks come from the created thread");
    assert_eq!(threads[0].0, "created");
    assert_ne!(threads[0].1, threads[2].1, "a buffer that names no thread stays with the default one");
}

#[test]
fn several_buffers_that_are_assigned_to_one_thread_are_delivered_by_it_from_then_on() {
    let buffers = [(); 3].map(|()| reporting(options(4096, 4096)));
    for (buffer, _) in &buffers {
        emit(buffer, 0, 0).expect("there is room");
        buffer.flush().expect("it is not destroyed");
    }
    let thread = CallbackThread::create("assigned");
    for (buffer, _) in &buffers {
        buffer.assign(&thread).expect("it is not destroyed");
        emit(buffer, 0, 1).expect("there is room");
        buffer.flush().expect("it is not destroyed");
    }
    let delivered: Vec<[Delivered; 2]> = buffers
        .iter()
        .map(|(_, delivered)| [(); 2].map(|()| delivered.try_recv().expect("each flush delivered a record")))
        .collect();
    let [before, after] = delivered[0].each_ref().map(|(_, thread, _)| *thread);
    assert_ne!(before, after);
    for [first, second] in &delivered {
        assert_eq!((first.1, &first.2[..], second.1, &second.2[..]), (before, &[0][..], after, &[1][..]));
        assert_eq!(second.0, "assigned");
    }
}

#[test]
fn hooks_run_around_the_creation_of_callback_threads() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (Arc::clone(&calls), Arc::clone(&calls));
    on_callback_thread_creation(
        move || before.lock().expect("no thread panics").push((thread::current().id(), "before")),
        move || after.lock().expect("no thread panics").push((thread::current().id(), "after")),
    );
    let thread = CallbackThread::create("hooked");
    let buffer = Buffer::create(BufferOptions { thread: thread.clone(), ..options(4096, 0) }, |_| ());
    let again = Buffer::create(BufferOptions { thread, ..options(4096, 0) }, |_| ());
    let here = thread::current().id();
    let calls = calls.lock().expect("no thread panics").clone();
    let calls: Vec<_> = calls.into_iter().filter(|(thread, _)| *thread == here).map(|(_, what)| what).collect();
    assert_eq!(calls, ["before", "after"], "the second buffer needs no new thread");
    drop((buffer, again));
}

#[test]
fn a_hook_may_create_threads_register_hooks_and_use_the_thread_that_is_being_created() {
    let here = thread::current().id();
    let outer = CallbackThread::create("outer");
    let (made, calls) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
    let (before, called, served) = (Arc::clone(&made), Arc::clone(&calls), outer.clone());
    let use_everything = move || {
        if thread::current().id() != here {
            return;
        }
        called.fetch_add(1, Ordering::Relaxed);
        CallbackThread::create("inner").start().expect("the system has a thread");
        on_callback_thread_creation(|| (), || ());
        let (buffer, delivered) = reporting(BufferOptions { thread: served.clone(), ..options(64, 64) });
        emit(&buffer, 0, 7).expect("there is room");
        let mut made = before.lock().expect("no thread panics");
        // In the first of the two hooks the thread is not running yet, so no call may wait for it there.
        let flushed = buffer.flush();
        assert_eq!(flushed.is_ok(), !made.is_empty(), "{flushed:?}");
        let full = (0..8).map(|number| emit(&buffer, 0, number)).find(Result::is_err);
        assert_eq!(full.is_none(), !made.is_empty(), "{full:?}");
        made.push((buffer, delivered));
    };
    let use_everything = Arc::new(use_everything);
    let after = Arc::clone(&use_everything);
    on_callback_thread_creation(move || use_everything(), move || after());
    outer.start().expect("the system has a thread");
    assert_eq!(calls.load(Ordering::Relaxed), 2, "not for the threads that the hook itself creates");
    for (buffer, delivered) in made.lock().expect("no thread panics").drain(..) {
        buffer.flush().expect("its thread runs now");
        let (name, ..) = delivered.try_recv().expect("what the hook emitted");
        assert_eq!(name, "outer");
    }
}

#[test]
fn a_flush_and_the_end_tell_of_drops_where_no_record_waits() {
    let (sender, receiver) = channel();
    let tells = BufferOptions { policy: Policy::Discard, reports_drops: true, ..options(64, 64) };
    let buffer = Buffer::create(tells, move |batch| {
        sender.send((batch.len(), batch.dropped())).expect("the test receives");
    });
    let buffer = buffer.expect("the options are valid");
    let fill = |drops: u64| (0..8 + drops).for_each(|number| emit(&buffer, 0, number).expect("drops are no errors"));
    fill(0);
    // The watermark delivers all, and the full buffer stays closed.
    assert_eq!(receiver.recv().expect("a batch"), (8, 0));
    (0..3).for_each(|number| emit(&buffer, 0, number).expect("drops are no errors"));
    buffer.flush().expect("it is not destroyed");
    assert_eq!(receiver.try_recv(), Ok((0, 3)));
    // Drops that were reported once are not reported again.
    buffer.flush().expect("it is not destroyed");
    assert!(receiver.try_recv().is_err());
    fill(2);
    let (delivered, with_the_batch) = receiver.recv().expect("a batch");
    buffer.flush().expect("it is not destroyed");
    let told = receiver.try_iter().last().map_or(with_the_batch, |(_, dropped)| dropped);
    assert_eq!((delivered, told), (8, 5));
    fill(0);
    assert_eq!(receiver.recv().expect("a batch"), (8, 5));
    emit(&buffer, 0, 0).expect("a drop is no error");
    buffer.destroy().expect("it is not destroyed");
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [(0, 6)]);
}

#[test]
fn a_reservation_is_built_in_place_and_leaves_no_trace_when_it_is_dropped() {
    let (sender, receiver) = channel();
    let buffer = Buffer::create(options(4096, 4096), move |batch| {
        for record in batch.records() {
            sender.send((record.header().kind, record.payload().to_vec())).expect("the test receives");
        }
    });
    let buffer = buffer.expect("the options are valid");
    let payload = |number: u64| number.to_le_bytes().to_vec();
    emit(&buffer, 0, 0).expect("there is room");
    drop(buffer.reserve(OURS, 7, 40).expect("there is room"));
    emit(&buffer, 0, 3).expect("there is room");
    let mut reserved = buffer.reserve(OURS, 7, 11).expect("there is room");
    assert_eq!(*reserved, [0; 11]);
    emit(&buffer, 0, 6).expect("there is room");
    let mut second = buffer.reserve(OURS, 9, 3).expect("there is room");
    second.copy_from_slice(&[1, 2, 3]);
    second.commit().expect("there is room");
    reserved[10] = 10;
    reserved.commit().expect("its room was kept");
    emit(&buffer, 0, 9).expect("there is room");
    buffer.flush().expect("it is not destroyed");
    let mut built = vec![0; 11];
    built[10] = 10;
    let expected = [(0, payload(0)), (0, payload(3)), (0, payload(6)), (9, vec![1, 2, 3]), (7, built), (0, payload(9))];
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), expected);
    let late = buffer.reserve(OURS, 1, 8).expect("there is room");
    buffer.destroy().expect("it is not destroyed");
    assert!(matches!(late.commit(), Err(TraceError::BufferDestroyed(_))));
    assert!(matches!(buffer.reserve(OURS, 1, 8), Err(TraceError::BufferDestroyed(_))));
}

#[test]
fn a_reservation_in_a_full_buffer_keeps_others_waiting_only_until_it_is_over() {
    let buffer = Buffer::create(options(64, 64), |_| ()).expect("the options are valid");
    let reserved = buffer.reserve(OURS, 1, 64).expect("there is room");
    thread::scope(|scope| {
        let other = scope.spawn(|| emit(&buffer, 1, 0));
        while buffer.statistics().stalls == 0 {
            thread::yield_now();
        }
        reserved.commit().expect("its room was kept");
        other.join().expect("it emits").expect("there is room again");
    });
    buffer.flush().expect("it is not destroyed");
    assert_eq!(buffer.statistics().total().delivered, 2);
}
