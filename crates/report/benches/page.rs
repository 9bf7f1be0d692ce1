//! Measures how large the page of 1000 operators and 10,000 runs is, and how long a browser takes to open it.
//!
//! The profiler makes the recording from runs that were never executed, with ten million dispatches. The page is
//! written by the public function that `opscope report` calls, and opened by Chromium in a new tab each time, through
//! chromedriver. The time is from the start of the navigation to the end of the `load` event, at which the script has
//! run and tables can be sorted; the peer is an empty page. Without Chromium, the case says that it was not measured.

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../tests/browser/webdriver.rs"]
mod webdriver;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use opscope_bench::{Case, Goal, Judged, Measured, decide, finish, median, not_measured, say, times};
use opscope_onnx::Graph;
use opscope_report::Report;
use webdriver::Browser;

/// The number of operators of the largest models that are in use.
const LARGE: usize = 5_000;
const OPERATORS: usize = 1_000;
const RUNS: u64 = 10_000;
const OPENINGS: usize = 11;
const SIZE: Goal = Goal::AtMost(3.0);
/// A page that takes a second feels slow.
const OPENING: Goal = Goal::AtMost(1_000.0);

fn main() -> ExitCode {
    let root = tempfile::tempdir().expect("a directory");
    let recording = root.path().join("recording");
    support::record(&recording, &support::layered(OPERATORS), times(RUNS, 100));
    let records = fs::metadata(recording.join("records.bin")).expect("records").len();
    let begin = Instant::now();
    let report = Report::read(&[recording], &|_| {}).expect("a recording");
    let page = root.path().join("report.html");
    report.write(&page).expect("a new file");
    let seconds = begin.elapsed().as_secs_f64();
    say(&format!("{:.1} million dispatches are read a second", OPERATORS as f64 * RUNS as f64 / 1e6 / seconds));
    size("size of the page, 1000 operators x 10,000 runs", &page, ("the recording, MB", records as f64 / 1e6));
    let large = root.path().join("large.onnx");
    let graph = graph_page(root.path(), "large", &support::model(&large, &support::layered(LARGE)));
    match densenet() {
        Some(graph) => size(
            "size of the page, densenet121 with its graph",
            &graph_page(root.path(), "densenet", &graph),
            ("operators", graph.operators.len() as f64),
        ),
        None => not_measured("report", "size of the page, densenet121", SIZE, "MB", "OPSCOPE_LIGHT_MODELS is not set"),
    }
    let empty = root.path().join("empty.html");
    fs::write(&empty, "<!doctype html><title>empty</title>").expect("a new file");
    match Browser::start() {
        Some(browser) => {
            opening(&browser, "opening the page in Chromium", &page, &empty);
            opening(&browser, "opening the page with the graph of 5000 operators", &graph, &empty);
        }
        None => not_measured("report", "opening the page in Chromium", OPENING, "ms", "there is no Chromium"),
    }
    finish()
}

/// Measures the size of a file, which is the same in every round.
fn size(case: &str, page: &Path, peer: (&str, f64)) {
    let bytes = fs::metadata(page).expect("the page").len() as f64;
    let judged = Judged::alone(Measured::exactly(bytes / 1e6));
    Case { bench: "report", case: case.to_owned(), judged, unit: "MB", peer, floor: None, goal: SIZE }.print();
}

/// Measures the longest of several openings, because a reader waits for that one. Its interval is that of the longest
/// of several sets.
fn opening(browser: &Browser, case: &str, page: &Path, empty: &Path) {
    let longest = |page: &Path| (0..times(OPENINGS, 1)).map(|_| browser.opening_ms(page)).fold(0.0, f64::max);
    let (mut pages, mut empties) = (Vec::new(), Vec::new());
    let judged = decide(OPENING, || {
        for _ in 0..times(6, 1) {
            pages.push(longest(page));
            empties.push(longest(empty));
        }
        Judged::alone(Measured::of(&pages))
    });
    let (case, peer) = (format!("{case}, longest of {OPENINGS}"), ("an empty page, ms", median(&empties)));
    Case { bench: "report", case, judged, unit: "ms", peer, floor: Some(median(&empties)), goal: OPENING }.print();
}

/// Writes the page of a model that ran ten times, with its graph.
fn graph_page(root: &Path, name: &str, graph: &Arc<Graph>) -> PathBuf {
    let recording = root.join(name);
    support::record_graph(&recording, graph, 10);
    let mut report = Report::read(&[recording], &|_| {}).expect("a recording");
    report.draw_graphs(&[]).expect("nothing is given");
    let page = root.join(format!("{name}.html"));
    report.write(&page).expect("a new file");
    page
}

/// Returns DenseNet-121 from the Python package `onnx`; `None` if the variable does not name the directory of its
/// models.
fn densenet() -> Option<Arc<Graph>> {
    let models = std::env::var_os("OPSCOPE_LIGHT_MODELS")?;
    Graph::load(&Path::new(&models).join("light_densenet121.onnx")).ok().map(Arc::new)
}
