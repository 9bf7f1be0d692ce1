//! How large is the page of 1000 operators and 10,000 runs, and how long does a browser take to open it?
//!
//! The recording is made by the profiler from runs that were never executed: ten million dispatches. The page is written by the
//! public function that `opscope report` calls, and opened by Chromium in a new tab each time, over chromedriver. The time is that
//! from the navigation's start to the end of the `load` event, at which the script has run and tables can be sorted; the peer
//! is an empty page. Where there is no Chromium, the case says that it was not measured.

#[path = "../tests/support/mod.rs"]
mod support;
#[path = "../tests/browser/webdriver.rs"]
mod webdriver;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use opscope_onnx::Graph;
use opscope_report::Report;
use serde_json::json;
use webdriver::Browser;

/// The largest models that people have.
const LARGE: usize = 5_000;
const OPERATORS: usize = 1_000;
const RUNS: u64 = 10_000;
const OPENINGS: usize = 11;
const LARGEST_BYTES: f64 = 3e6;
const LONGEST_MS: f64 = 2_000.0;

fn main() {
    let root = tempfile::tempdir().expect("a directory");
    let recording = root.path().join("recording");
    support::record(&recording, &support::layered(OPERATORS), RUNS);
    let records = fs::metadata(recording.join("records.bin")).expect("records").len();
    let begin = Instant::now();
    let report = Report::read(&[recording], &|_| {}).expect("a recording");
    let page = root.path().join("report.html");
    report.write(&page).expect("a new file");
    let seconds = begin.elapsed().as_secs_f64();
    let bytes = fs::metadata(&page).expect("the page").len() as f64;
    case(
        "size of the page, 1000 operators x 10,000 runs",
        bytes / 1e6,
        "MB",
        ("the recording, MB", records as f64 / 1e6),
        "<= 3 MB",
        bytes <= LARGEST_BYTES,
    );
    case(
        "dispatches read",
        OPERATORS as f64 * RUNS as f64 / 1e6 / seconds,
        "M/s",
        ("seconds for the whole page", seconds),
        "none",
        true,
    );
    graphs(root.path());
    let empty = root.path().join("empty.html");
    fs::write(&empty, "<!doctype html><title>empty</title>").expect("a new file");
    let name = "opening the page in Chromium";
    match Browser::start() {
        Some(browser) => {
            let [page, empty] = [&page, &empty].map(|path| {
                let mut times: Vec<f64> = (0..OPENINGS).map(|_| browser.opening_ms(path)).collect();
                times.sort_by(f64::total_cmp);
                // The longest counts: whoever waits, waits for that one.
                (times[OPENINGS / 2], times[OPENINGS - 1])
            });
            let peer = ("an empty page, ms", empty.0);
            case(&format!("{name}, median"), page.0, "ms", peer, "<= 2000 ms", page.0 <= LONGEST_MS);
            case(
                &format!("{name}, longest of {OPENINGS}"),
                page.1,
                "ms",
                ("an empty page, ms", empty.1),
                "<= 2000 ms",
                page.1 <= LONGEST_MS,
            );
        }
        None => case(name, f64::NAN, "ms", ("not measured", f64::NAN), "<= 2000 ms", false),
    }
}

/// The pages with the graphs of DenseNet-121, and of a model with 5,000 operators.
fn graphs(root: &Path) {
    let size = |page: &Path| fs::metadata(page).map_or(f64::NAN, |page| page.len() as f64 / 1e6);
    let large = root.join("large.onnx");
    let begin = Instant::now();
    let page = graph_page(root, "large", &support::model(&large, &support::layered(LARGE)));
    let seconds = begin.elapsed().as_secs_f64();
    case(
        "size of the page, 5000 operators with their graph",
        size(&page),
        "MB",
        ("seconds to make it", seconds),
        "none",
        true,
    );
    let opening = "opening the page with the graph of 5000 operators, longest";
    match Browser::start() {
        Some(browser) => {
            let longest = (0..OPENINGS).map(|_| browser.opening_ms(&page)).fold(0.0, f64::max);
            case(opening, longest, "ms", ("openings", OPENINGS as f64), "<= 2000 ms", longest <= LONGEST_MS);
        }
        None => case(opening, f64::NAN, "ms", ("not measured", f64::NAN), "<= 2000 ms", false),
    }
    let name = "size of the page, densenet121 with its graph";
    match densenet() {
        Some(graph) => {
            let size = size(&graph_page(root, "densenet", &graph));
            case(name, size, "MB", ("operators", graph.operators.len() as f64), "<= 3 MB", size * 1e6 <= LARGEST_BYTES);
        }
        None => case(name, f64::NAN, "MB", ("not measured", f64::NAN), "<= 3 MB", false),
    }
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

/// Returns DenseNet-121 of the Python package `onnx`; `None` where the variable does not name the directory of its models.
fn densenet() -> Option<Arc<Graph>> {
    let models = std::env::var_os("OPSCOPE_LIGHT_MODELS")?;
    Graph::load(&Path::new(&models).join("light_densenet121.onnx")).ok().map(Arc::new)
}

fn case(case: &str, value: f64, unit: &str, (peer, peer_value): (&str, f64), goal: &str, met: bool) {
    if std::env::args().any(|argument| argument == "--json") {
        let line = json!({
            "bench": "report", "case": case, "value": value, "unit": unit, "peer": peer, "peer_value": peer_value,
            "floor": null, "goal": goal, "met": met,
        });
        println!("{line}");
        return;
    }
    println!(
        "report     {case:<52} {value:>10.3} {unit}; {peer} {peer_value:.3}; goal {goal}: {}",
        if met { "met" } else { "MISSED" }
    );
}
