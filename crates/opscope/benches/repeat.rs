//! Whether a comparison of times can be trusted: of runs of the same model, few may seem slower; of runs that are slower, most
//! must be found. Each run is a process of its own, one after the other, on whatever else this machine does.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use opscope::compare::times::{Times, TimesComparison};
use support::{Case, smallest};

/// How many pairs of the same model are compared.
const PAIRS: usize = 100;
/// How many pairs of a model with twice the work are compared.
const SLOWER: usize = 20;
/// How long a run is measured, in seconds.
const SECONDS: &str = "3";

fn main() {
    let scratch = tempfile::tempdir().expect("there is a temporary directory");
    // Shared between neighbours: a summary is B in one pair and A in the next one.
    let same: Vec<PathBuf> =
        (0..=PAIRS).map(|round| benchmark(scratch.path(), &format!("same-{round}"), "8")).collect();
    let (mut exceeded, mut unknown, mut naive, mut widths) = (0, 0, 0, Vec::new());
    for pair in same.windows(2) {
        let comparison = compared(&pair[0], &pair[1]);
        match comparison.judgements[0].exceeded {
            Some(true) => exceeded += 1,
            Some(false) => {}
            None => unknown += 1,
        }
        naive += usize::from(comparison.run.percent.is_some_and(|percent| percent > 5.0));
        widths.extend(comparison.run.percent_interval.map(|(low, high)| high - low));
    }
    Case {
        bench: "repeat",
        case: format!("the same model fails at 5 %, of {PAIRS} pairs"),
        value: exceeded as f64,
        interval: None,
        unit: "pairs",
        peer: "with a median above 5 %".to_owned(),
        peer_value: naive as f64,
        floor: Some(0.0),
        goal: format!("<= 1 of {PAIRS}"),
        met: exceeded * 100 <= PAIRS,
    }
    .print();
    // A comparison that never decides would never fail, either.
    Case {
        bench: "repeat",
        case: format!("the same model cannot be told at 5 %, of {PAIRS} pairs"),
        value: unknown as f64,
        interval: None,
        unit: "pairs",
        peer: "median width of an interval, %".to_owned(),
        peer_value: support::median(&widths),
        floor: Some(0.0),
        goal: format!("<= {}", PAIRS / 10),
        met: unknown * 10 <= PAIRS,
    }
    .print();
    let found = (0..SLOWER)
        .filter(|round| {
            let slower = benchmark(scratch.path(), &format!("slower-{round}"), "16");
            compared(&same[*round], &slower).judgements[0].exceeded == Some(true)
        })
        .count();
    Case {
        bench: "repeat",
        case: format!("twice the batch fails at 5 %, of {SLOWER} pairs"),
        value: found as f64,
        interval: None,
        unit: "pairs",
        peer: "median width of an interval, %".to_owned(),
        peer_value: support::median(&widths),
        floor: Some(SLOWER as f64),
        goal: format!(">= {}", SLOWER * 9 / 10),
        met: found * 10 >= SLOWER * 9,
    }
    .print();
}

fn compared(a: &Path, b: &Path) -> TimesComparison {
    let open = |path: &Path| Times::open(path).expect("a summary");
    let comparison = TimesComparison::of(&open(a), &open(b)).expect("the same model");
    comparison.with_thresholds(&["5%".parse().expect("a threshold")]).expect("the total is always there")
}

/// Runs a benchmark of the smallest model, and returns its summary.
fn benchmark(scratch: &Path, name: &str, batch: &str) -> PathBuf {
    let program = std::env::var_os("OPSCOPE_BIN").expect("OPSCOPE_BIN is the opscope program; scripts/bench sets it");
    let output = Command::new(program)
        .arg("benchmark")
        .arg(smallest())
        .args(["--duration", SECONDS, "--dym-batch", batch, "--quiet", "--output"])
        .arg(scratch)
        .args(["--output-dirname", name])
        .output()
        .expect("opscope starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    scratch.join(format!("{name}_summary.json"))
}
