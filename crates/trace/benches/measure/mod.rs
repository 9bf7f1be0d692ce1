//! How the benches of this crate measure and report.
//!
//! Whatever is compared is measured in turns, a batch of each at a time, so that a machine that slows down slows them all
//! down. The median over the rounds is reported.

// Each bench is a program of its own and uses a part of this.
#![allow(dead_code)]

use std::time::Instant;

/// Something to be measured: its name, and a function that does it once and gives the cost of it in the bench's unit.
pub struct Contender<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// The medians of all contenders, in their order.
pub fn medians<const N: usize>(rounds: usize, mut contenders: [Contender<'_>; N]) -> [f64; N] {
    for contender in &mut contenders {
        // Once for nothing: page faults, branch predictors, clocks.
        (contender.run)();
    }
    let mut samples: [Vec<f64>; N] = [const { Vec::new() }; N];
    for round in 0..rounds {
        for turn in 0..N {
            let index = (round + turn) % N;
            samples[index].push((contenders[index].run)());
        }
    }
    let medians = samples.map(median);
    if std::env::var_os("OPSCOPE_BENCH_JSON").is_none() {
        for (contender, median) in contenders.iter().zip(medians) {
            println!("    {:<44} {median:>12.2}", contender.name);
        }
    }
    medians
}

/// Says what the numbers below are.
pub fn title(text: &str) {
    if std::env::var_os("OPSCOPE_BENCH_JSON").is_none() {
        println!("{text}");
    }
}

/// Keeps this thread on a processor, where there is that one, so that what is compared has the same placement and no other
/// program's threads make this one move.
pub fn run_on(processor: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    if rustix::thread::sched_setaffinity(None, &set).is_err() {
        title("(this machine has one processor: nothing is pinned)");
    }
}

pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// Nanoseconds per repetition.
pub fn nanos_each(repetitions: u64, mut act: impl FnMut(u64)) -> f64 {
    let start = Instant::now();
    for index in 0..repetitions {
        act(index);
    }
    start.elapsed().as_nanos() as f64 / repetitions as f64
}

/// One line of the report.
pub struct Case {
    pub case: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub peer: &'static str,
    pub peer_value: Option<f64>,
    pub floor: Option<f64>,
    pub goal: String,
    pub met: bool,
}

impl Case {
    pub fn report(&self) {
        let number = |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.3}"));
        if std::env::var_os("OPSCOPE_BENCH_JSON").is_some() {
            println!(
                r#"{{"bench":"records","case":"{}","value":{:.3},"unit":"{}","peer":"{}","peer_value":{},"floor":{},"goal":"{}","met":{}}}"#,
                self.case,
                self.value,
                self.unit,
                self.peer,
                number(self.peer_value),
                number(self.floor),
                self.goal,
                self.met
            );
        } else {
            let met = if self.met { "met" } else { "NOT MET" };
            println!("{:<50} {:>10.2} {:<12} goal: {} - {met}", self.case, self.value, self.unit, self.goal);
        }
    }
}
