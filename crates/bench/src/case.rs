//! One line of a benchmark's result.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::{Goal, Judged, Measured, Verdict, is_moment};

/// Whether every case so far reached its goal.
static ALL_MET: AtomicBool = AtomicBool::new(true);

/// A case: a measured number, what it is compared with, and the goal.
pub struct Case<'a> {
    /// The benchmark.
    pub bench: &'a str,
    /// What was measured.
    pub case: String,
    /// The result in `unit`, and its noise.
    pub judged: Judged,
    /// The unit of the result and of the goal.
    pub unit: &'a str,
    /// What it is compared with, including the unit of its number, and that number.
    pub peer: (&'a str, f64),
    /// The machine's limit in the unit of the peer's number, if it is known.
    pub floor: Option<f64>,
    /// The goal for the result.
    pub goal: Goal,
}

impl Case<'_> {
    /// Prints the case: as a JSON line with `--json`, else as a line of text.
    pub fn print(&self) {
        let Self { bench, case, judged: Judged { measured, noise }, unit, peer: (peer, peer_value), floor, goal } =
            self;
        let verdict = goal.verdict(self.judged);
        if verdict != Verdict::Met {
            ALL_MET.store(false, Ordering::Relaxed);
        }
        let Measured { value, low, high } = *measured;
        if is_json() {
            let line = json!({
                "bench": bench, "case": case, "value": number(value), "unit": unit,
                "interval": [number(low), number(high)], "noise": number(*noise),
                "peer": peer, "peer_value": number(*peer_value), "floor": floor.map(number),
                "goal": format!("{goal} {unit}"), "met": verdict == Verdict::Met, "verdict": word(verdict).to_lowercase(),
            });
            println!("{line}");
            return;
        }
        let mut text = format!("{bench:<12} {case:<56} {value:>10.4} {unit} [{low:.4}, {high:.4}]");
        if *noise > 0.0 {
            let _ = write!(text, ", noise {noise:.4}");
        }
        let _ = write!(text, "; {peer} {peer_value:.4}");
        if let Some(floor) = floor {
            let _ = write!(text, "; floor {floor:.4}");
        }
        println!("{text}; goal {goal} {unit}: {}", word(verdict));
    }
}

/// Prints a case that could not be measured here. It counts as missed.
pub fn not_measured(bench: &str, case: &str, goal: Goal, unit: &str, why: &str) {
    let case = format!("{case} (not measured: {why})");
    let judged = Judged::alone(Measured::of(&[]));
    Case { bench, case, judged, unit, peer: ("", f64::NAN), floor: None, goal }.print();
}

/// Prints a line for people; nothing if JSON lines are requested.
pub fn say(text: &str) {
    if !is_json() {
        println!("{text}");
    }
}

/// Returns the exit code of a benchmark: 1 if a case missed its goal. In a run for a moment it is always 0, because the
/// numbers mean nothing.
pub fn finish() -> ExitCode {
    ExitCode::from(u8::from(!ALL_MET.load(Ordering::Relaxed) && !is_moment()))
}

/// Returns whether JSON lines are requested.
pub fn is_json() -> bool {
    std::env::args().any(|argument| argument == "--json")
}

/// Returns a number as JSON: `null` if it was not measured.
fn number(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Into::into)
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::Missed => "MISSED",
        Verdict::Undecided => "UNDECIDED",
    }
}
