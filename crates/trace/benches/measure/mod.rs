//! Helpers that the benches of this crate share: which processor a thread runs on, and what one repetition costs.

// Each bench is a program of its own and uses a part of this.
#![allow(dead_code)]

use std::time::Instant;

use opscope_bench::say;

/// Pins this thread to a processor, if the machine has it, so that all contenders run in the same place.
pub fn run_on(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    if rustix::thread::sched_setaffinity(None, &set).is_err() {
        say("(this machine has one processor: nothing is pinned)");
    }
}

/// Returns the nanoseconds per repetition.
pub fn nanos_each(repetitions: u64, mut act: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for index in 0..repetitions {
        act(index);
    }
    start.elapsed().as_nanos() as f64 / repetitions as f64
}
