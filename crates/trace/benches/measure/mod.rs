//! How the benches of this crate measure and report.
//!
//! Contenders are measured in turns, a batch of each at a time, so that a machine that slows down slows all of them down.
//! The median over the rounds is reported. A goal is met if the whole 95 % confidence interval of the median reaches it.

// Each bench is a program of its own and uses a part of this.
#![allow(dead_code)]

use std::time::Instant;

/// Something to be measured: its name, and a function that does it once and returns its cost in the bench's unit.
pub struct Contender<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    pub fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// The costs of one contender, round by round.
pub struct Measured(Vec<f64>);

impl Measured {
    /// Returns the median.
    pub fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// Returns whether it costs at most `factor` times as much as the other one, which was measured in the same rounds.
    pub fn is_within(&self, factor: f64, other: &Self) -> bool {
        let ratios = self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs);
        interval(ratios.collect()).1 <= factor
    }

    /// Returns whether it costs at most `bound`.
    pub fn is_at_most(&self, bound: f64) -> bool {
        interval(self.0.clone()).1 <= bound
    }

    /// Returns whether it reaches at least `bound`.
    pub fn is_at_least(&self, bound: f64) -> bool {
        interval(self.0.clone()).0 >= bound
    }
}

/// Measures all contenders, and returns their costs in the same order.
pub fn measured<const N: usize>(rounds: usize, mut contenders: [Contender<'_>; N]) -> [Measured; N] {
    for contender in &mut contenders {
        // Not counted: page faults, branch predictors, clocks.
        (contender.run)();
    }
    let mut samples: [Vec<f64>; N] = [const { Vec::new() }; N];
    for round in 0..rounds {
        for turn in 0..N {
            let index = (round + turn) % N;
            samples[index].push((contenders[index].run)());
        }
    }
    let measured = samples.map(Measured);
    if std::env::var_os("OPSCOPE_BENCH_JSON").is_none() {
        for (contender, measured) in contenders.iter().zip(&measured) {
            println!("    {:<44} {:>12.2}", contender.name, measured.median());
        }
    }
    measured
}

/// Prints what the numbers below it are.
pub fn title(text: &str) {
    if std::env::var_os("OPSCOPE_BENCH_JSON").is_none() {
        println!("{text}");
    }
}

/// Pins this thread to a processor, if the machine has it, so that all contenders run in the same place.
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

/// Returns the 95 % confidence interval of the median: the order statistics about two standard deviations of a binomial
/// distribution away from the middle.
fn interval(mut samples: Vec<f64>) -> (f64, f64) {
    const DEVIATIONS: f64 = 1.959_964;
    samples.sort_by(f64::total_cmp);
    let (middle, reach) = (samples.len() as f64 / 2.0, DEVIATIONS * (samples.len() as f64).sqrt() / 2.0);
    let last = samples.len() - 1;
    (samples[(middle - reach).floor() as usize], samples[((middle + reach).ceil() as usize).min(last)])
}

/// Returns the nanoseconds per repetition.
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
    /// Prints the case as one of the group `records`.
    pub fn report(&self) {
        self.report_in("records");
    }

    /// Prints the case as one of a group.
    pub fn report_in(&self, bench: &str) {
        let number = |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.3}"));
        if std::env::var_os("OPSCOPE_BENCH_JSON").is_some() {
            println!(
                r#"{{"bench":"{bench}","case":"{}","value":{:.3},"unit":"{}","peer":"{}","peer_value":{},"floor":{},"goal":"{}","met":{}}}"#,
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
