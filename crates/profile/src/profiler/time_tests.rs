//! Intervals, on a clock that the tests advance: nothing happens just before the due moment, and at that moment it
//! does.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use opscope_clock::ManualClock;
use opscope_model::Fidelity;
use tempfile::TempDir;

use super::*;
use crate::recording::test_recording;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Returns a profiler with a manual clock.
fn begun(root: &TempDir, options: &ProfilerOptions, clock: &ManualClock) -> Profiler {
    let engine = EngineInfo::new("paper", "1", Fidelity::Optimised);
    let info = RecordingInfo { graph: test_recording::graph(), engine };
    let directory = root.path().join("recording");
    Profiler::with_clock(&directory, &info, options, &Clock::manual(clock)).expect("a new directory")
}

#[test]
fn the_intervals_of_a_profiler_that_is_asked_for_none() {
    let options = ProfilerOptions::default();
    assert_eq!(options.sample_interval, Duration::from_millis(100));
    assert_eq!(options.flush_interval, Duration::from_secs(1));
}

#[test]
fn counters_are_sampled_every_100_ms() {
    let root = tempfile::tempdir().expect("a directory");
    let clock = ManualClock::create();
    // Nothing is written, so that only the sampler waits.
    let options = ProfilerOptions { flush_interval: Duration::MAX, ..ProfilerOptions::default() };
    let profiler = begun(&root, &options, &clock);
    // There are two default counters: the memory in use, and the memory in use for files.
    let samples = || profiler.buffer.statistics().kind(Kind::Counter).emitted / 2;
    for count in 1..4 {
        clock.await_waits(1);
        assert_eq!(samples(), count);
        clock.advance(Duration::from_millis(99));
        clock.await_waits(1);
        assert_eq!(samples(), count, "a millisecond is left");
        clock.advance(MILLISECOND);
    }
    clock.await_waits(1);
    assert_eq!(samples(), 4);
}

#[test]
fn the_sample_interval_is_the_one_that_is_asked_for() {
    let root = tempfile::tempdir().expect("a directory");
    let clock = ManualClock::create();
    let sample_interval = Duration::from_millis(20);
    let options = ProfilerOptions { sample_interval, flush_interval: Duration::MAX, ..ProfilerOptions::default() };
    let profiler = begun(&root, &options, &clock);
    for _ in 0..50 {
        clock.await_waits(1);
        clock.advance(sample_interval);
    }
    clock.await_waits(1);
    assert_eq!(profiler.buffer.statistics().kind(Kind::Counter).emitted, 51 * 2, "a second, and its beginning");
}

#[test]
fn records_are_written_after_a_second() {
    let root = tempfile::tempdir().expect("a directory");
    let clock = ManualClock::create();
    // Without counters, only the writing thread waits.
    let switches = Switches { machine_memory: false, ..Switches::default() };
    let profiler = begun(&root, &ProfilerOptions { switches, ..ProfilerOptions::default() }, &clock);
    let delivered = || profiler.buffer.statistics().kind(Kind::EngineCall).delivered;
    for count in 0..3 {
        clock.await_waits(1);
        profiler.called(Call::Load, Ticks::now(), Ticks::now());
        clock.advance(Duration::from_millis(999));
        clock.await_waits(1);
        assert_eq!(delivered(), count, "a millisecond is left");
        clock.advance(MILLISECOND);
    }
    clock.await_waits(1);
    assert_eq!(delivered(), 3);
}

#[test]
fn samples_come_in_real_time_too() {
    let (sender, samples) = channel();
    let options = BufferOptions { watermark: Bytes::new(0), ..BufferOptions::default() };
    let buffer = Buffer::create(options, move |batch| {
        // The test may have ended.
        let _ = sender.send(batch.len());
    });
    let buffer = buffer.expect("the options are valid");
    let sample_interval = Duration::from_millis(50);
    let options = ProfilerOptions { sample_interval, ..ProfilerOptions::default() };
    let begin = Instant::now();
    let sampler = Sampler::start(&options, &buffer, &Clock::system()).expect("the system has threads");
    let mut received = 0;
    while received < 11 * 2 {
        received += samples.recv_timeout(Duration::from_secs(60)).expect("a sample");
    }
    let took = begin.elapsed();
    assert!((sample_interval * 10..sample_interval * 100).contains(&took), "11 samples took {took:?}");
    drop(sampler);
}
