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
use std::time::Instant;

use opscope_report::Report;
use serde_json::json;
use webdriver::Browser;

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
