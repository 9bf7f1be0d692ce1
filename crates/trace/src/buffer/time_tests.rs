//! Intervals and timeouts, on a clock that the tests advance: nothing happens just before the due moment, and at that
//! moment it does.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use opscope_clock::{Clock, ManualClock};

use super::process_events::{ForkDeadline, TIMEOUT_AT_EXIT, TIMEOUT_AT_FORK};
use super::{Buffer, BufferOptions, CallbackThread, registry};
use crate::TraceError;
use crate::record::{Bytes, Category};

const MILLISECOND: Duration = Duration::from_millis(1);

/// The longest real time that a test waits for a thread to end.
const LONGEST: Duration = Duration::from_secs(30);

fn options(clock: &ManualClock, size: u64) -> BufferOptions {
    let thread = CallbackThread::with_clock("time", Clock::manual(clock));
    BufferOptions { size: Bytes::new(size), watermark: Bytes::new(size), thread, ..BufferOptions::default() }
}

fn emit(buffer: &Buffer) {
    buffer.emit_bytes(Category(8), 0, &[0; 8]).expect("there is room");
}

/// Returns a buffer, and a channel for the number of records that each callback receives.
fn reporting(options: BufferOptions) -> (Buffer, Receiver<u64>) {
    let (sender, receiver) = channel();
    let buffer = Buffer::create(options, move |batch| {
        // The test may have ended.
        let _ = sender.send(batch.len());
    });
    (buffer.expect("the options are valid"), receiver)
}

/// Returns a buffer whose callback was called with a record, and does not return before the sender is dropped.
fn held(options: BufferOptions) -> (Buffer, Sender<()>) {
    let (release, held) = channel();
    let (entered, enters) = channel();
    let buffer = Buffer::create(options, move |_| {
        // The test waits for the first call only.
        let _ = entered.send(());
        let _ = held.recv();
    });
    let buffer = buffer.expect("the options are valid");
    emit(&buffer);
    buffer.request_flush();
    enters.recv().expect("the callback is called");
    (buffer, release)
}

/// Calls a function with a buffer on a thread of its own.
fn spawned<R: Send + 'static>(buffer: &Buffer, call: impl FnOnce(&Buffer) -> R + Send + 'static) -> JoinHandle<R> {
    let buffer = buffer.clone();
    thread::spawn(move || call(&buffer))
}

/// Checks that a thread ends after this time, and not a millisecond earlier.
fn ends_after<R: Send + 'static>(clock: &ManualClock, time: Duration, ending: JoinHandle<R>) -> R {
    clock.await_waits(1);
    clock.advance(time - MILLISECOND);
    clock.await_waits(1);
    assert!(!ending.is_finished(), "a millisecond is left");
    clock.advance(MILLISECOND);
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(ending.join()));
    ended.recv_timeout(LONGEST).expect("its time is over").expect("it does not panic")
}

#[test]
fn an_interval_flush_comes_when_the_interval_is_over_and_again_after_another_one() {
    let clock = ManualClock::create();
    let interval = Duration::from_millis(100);
    let (buffer, batches) = reporting(BufferOptions { interval: Some(interval), ..options(&clock, 4096) });
    for _ in 0..3 {
        clock.await_waits(1);
        emit(&buffer);
        clock.advance(interval - MILLISECOND);
        clock.await_waits(1);
        assert_eq!(batches.try_recv(), Err(TryRecvError::Empty), "a millisecond is left");
        clock.advance(MILLISECOND);
        clock.await_waits(1);
        assert_eq!(batches.try_recv(), Ok(1));
    }
}

#[test]
fn an_interval_that_is_changed_begins_when_it_is_set_and_one_that_is_ended_never_comes() {
    let clock = ManualClock::create();
    let (buffer, batches) = reporting(BufferOptions { interval: Some(MILLISECOND * 100), ..options(&clock, 4096) });
    clock.await_waits(1);
    clock.advance(MILLISECOND * 60);
    buffer.set_interval(Some(MILLISECOND * 50)).expect("it is not destroyed");
    emit(&buffer);
    clock.advance(MILLISECOND * 49);
    clock.await_waits(1);
    assert_eq!(batches.try_recv(), Err(TryRecvError::Empty), "neither the interval before nor this one is over");
    clock.advance(MILLISECOND);
    clock.await_waits(1);
    assert_eq!(batches.try_recv(), Ok(1));
    // Setting the same interval again does not restart it.
    emit(&buffer);
    clock.advance(MILLISECOND * 30);
    buffer.set_interval(Some(MILLISECOND * 50)).expect("it is not destroyed");
    clock.advance(MILLISECOND * 20);
    clock.await_waits(1);
    assert_eq!(batches.try_recv(), Ok(1));
    buffer.set_interval(None).expect("it is not destroyed");
    emit(&buffer);
    clock.advance(Duration::from_secs(3600));
    emit(&buffer);
    buffer.flush().expect("it is not destroyed");
    assert_eq!(batches.try_recv(), Ok(2), "nothing came between the two");
}

#[test]
fn a_buffer_has_no_interval_unless_it_is_asked_for() {
    assert_eq!(BufferOptions::default().interval, None);
}

#[test]
fn a_flush_with_a_timeout_ends_when_it_is_over() {
    let clock = ManualClock::create();
    let (buffer, release) = held(options(&clock, 4096));
    let flush = spawned(&buffer, |buffer| buffer.flush_within(Duration::from_millis(200)));
    let flushed = ends_after(&clock, Duration::from_millis(200), flush);
    assert!(matches!(flushed, Err(TraceError::TimedOut(_))));
    drop(release);
}

#[test]
fn a_fork_waits_a_second_for_the_callback_of_another_thread() {
    assert_eq!(TIMEOUT_AT_FORK, Duration::from_secs(1));
    let clock = ManualClock::create();
    let (buffer, release) = held(options(&clock, 4096));
    // This takes the lock although the callback has not returned.
    let fork = spawned(&buffer, |buffer| drop(ForkDeadline::of(Arc::clone(buffer.shared())).hold()));
    ends_after(&clock, Duration::from_secs(1), fork);
    drop(release);
}

#[test]
fn the_exit_of_the_process_waits_five_seconds_for_a_callback_and_names_its_buffer() {
    assert_eq!(TIMEOUT_AT_EXIT, Duration::from_secs(5));
    let clock = ManualClock::create();
    let (buffer, release) = held(options(&clock, 4096));
    let (quick, batches) = reporting(options(&clock, 4096));
    emit(&quick);
    let other = Arc::clone(quick.shared());
    let exit = spawned(&buffer, |buffer| registry::destroy(vec![Arc::clone(buffer.shared()), other], TIMEOUT_AT_EXIT));
    assert!(quick.shared().await_end(None), "the other buffer is delivered");
    assert_eq!(ends_after(&clock, Duration::from_secs(5), exit), [buffer.id()]);
    assert_eq!(batches.try_recv(), Ok(1));
    drop(release);
}

#[test]
fn the_longest_stall_is_as_long_as_a_thread_waited_for_space() {
    let clock = ManualClock::create();
    let (buffer, release) = held(options(&clock, 8));
    for (seconds, longest) in [(3, 3), (2, 3), (7, 7)] {
        let stalls = buffer.statistics().stalls;
        thread::scope(|scope| {
            // All space is used by the records of the callback that is held.
            let emitting = scope.spawn(|| emit(&buffer));
            while buffer.statistics().stalls == stalls {
                thread::yield_now();
            }
            clock.advance(Duration::from_secs(seconds));
            release.send(()).expect("the callback waits");
            emitting.join().expect("it finds room");
        });
        assert_eq!(buffer.statistics().longest_stall, Duration::from_secs(longest));
    }
    drop(release);
}
