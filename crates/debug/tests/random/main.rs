//! A debugger that makes random calls at random moments, and properties that hold nevertheless.
//!
//! `OPSCOPE_RANDOM_SEED` repeats the choices of a round that failed; `OPSCOPE_RANDOM_SECONDS` makes the test longer.

mod chance;
mod client;
#[path = "../fake/mod.rs"]
mod fake;

use std::env;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use chance::Chance;
use client::Client;
use fake::{Fake, PLAIN};
use opscope_debug::{AttachOptions, Attachment, DebugError, Debugger};
use opscope_model::{EngineError, Fidelity, Instrument, KernelId, RunId, RunInfo};

/// The number of threads that run the model, and the number of all their runs in a round.
const THREADS: u64 = 4;
const RUNS: u64 = 240;

/// The first input makes a run compute NaN, and the second makes it fail.
const NAN: [f32; 4] = [-1.0, 0.0, 2.0, 5.0];
const FAILS: [f32; 4] = [333.0, 1.0, 1.0, 1.0];

#[test]
fn whatever_a_debugger_does_every_run_ends_as_it_should_and_every_event_is_accounted_for() {
    let mut seed: u64 = setting("OPSCOPE_RANDOM_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 32);
    let seconds = setting("OPSCOPE_RANDOM_SECONDS").unwrap_or(1);
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        let told = Told(seed);
        round(seed);
        drop(told);
        seed += 1;
        if Instant::now() >= end {
            return;
        }
    }
}

fn setting<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, and not '{text}'")))
}

/// Prints the seed of a round that failed.
struct Told(u64);

impl Drop for Told {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("this was a round of OPSCOPE_RANDOM_SEED={}", self.0);
        }
    }
}

/// Runs the model on several threads, under one debugger after another, until the runs are done.
fn round(seed: u64) {
    let fake = if seed.is_multiple_of(2) { Fake::new() } else { Fake::in_pieces() };
    let program = Arc::new(Program::new(fake));
    let runs: Vec<_> = (0..THREADS)
        .map(|thread| {
            let program = Arc::clone(&program);
            thread::spawn(move || (thread..RUNS).step_by(THREADS as usize).for_each(|run| program.run(run)))
        })
        .collect();
    let mut chance = Chance::new(seed);
    while runs.iter().any(|run| !run.is_finished()) {
        Client::attach(&program, &mut chance).live();
    }
    runs.into_iter().for_each(|run| run.join().expect("a run ends as it should"));
    program.is_left_alone();
}

/// A program that is debugged, and the runs that its debugger aborted.
struct Program {
    debugger: Debugger,
    fake: Fake,
    /// For each run, whether a debugger has aborted it, or has tried to.
    aborted: Vec<AtomicBool>,
    ended: AtomicU64,
}

impl Program {
    fn new(fake: Fake) -> Self {
        Self {
            debugger: Debugger::with_log(|_| ()).expect("the system has descriptors"),
            fake,
            aborted: (0..RUNS).map(|_| AtomicBool::new(false)).collect(),
            ended: AtomicU64::new(0),
        }
    }

    fn run(&self, run: u64) {
        let input = match run % 7 {
            0 => NAN,
            3 => FAILS,
            _ => PLAIN.map(|x| x + run as f32),
        };
        match self.fake.run(&self.debugger, run, input) {
            // This includes runs in which the failing operator was skipped.
            Ok(output) => assert_eq!(bits(&output), bits(&Fake::expected(input)), "run {run}"),
            Err(EngineError::Stopped(_)) => assert!(self.aborted[run as usize].load(Ordering::SeqCst), "run {run}"),
            Err(error) => assert_eq!(input, FAILS, "run {run}: {error}"),
        }
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    fn is_done(&self) -> bool {
        self.ended.load(Ordering::SeqCst) == RUNS
    }

    /// Attaches as soon as no other client is attached. It may have to wait, because a callback may hold the last
    /// reference to an attachment.
    fn attach(&self, options: &AttachOptions) -> Attachment {
        loop {
            match self.debugger.attach(options.clone()) {
                Err(DebugError::AlreadyAttached { .. }) => thread::yield_now(),
                attached => return attached.expect("nothing else keeps it from attaching"),
            }
        }
    }

    /// Checks that nothing is left of the debuggers that are gone, and that the observer of a run is never called.
    fn is_left_alone(&self) {
        let next = self.attach(&AttachOptions::default());
        let status = next.status().unwrap();
        assert!(status.runs.is_empty() && status.stopped.is_empty(), "{status:?}");
        assert!(next.breakpoints().unwrap().is_empty());
        drop(next);
        let (graph, kernels) = (&self.fake.graph, &self.fake.kernels);
        let observer = self.debugger.observe(&RunInfo { id: RunId(RUNS), graph, kernels, fidelity: Fidelity::Exact });
        let interest = observer.interest();
        for kernel in (0..kernels.len() as u32).map(KernelId::new) {
            let wanted = [&interest.before, &interest.after, &interest.keep_inputs].map(|which| which.contains(kernel));
            assert_eq!(wanted, [false; 3], "kernel {kernel:?}");
        }
    }
}

/// Returns the bits of numbers, with the same bits for every NaN.
fn bits(numbers: &[f32]) -> Vec<u32> {
    numbers.iter().map(|number| if number.is_nan() { 1 } else { number.to_bits() }).collect()
}
