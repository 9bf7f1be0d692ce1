//! The summary: the numbers that matter first. And what the run ran on.

use opscope_profile::carries_percentile;
use opscope_text::shown_size;

use super::Place;
use super::html::Html;
use crate::ReportError;
use crate::facts::RunFacts;
use crate::source::Times;
use crate::units::{count, duration, percent, trimmed};

/// A number of the summary: what it is, the number, and what belongs to it.
struct Tile(&'static str, String, String);

pub(super) fn summary(html: &mut Html, place: &Place<'_>) -> Result<(), ReportError> {
    let run = place.run;
    html.within("dl", &[("class", "tiles")], |html| {
        for Tile(what, number, note) in tiles(run) {
            html.within("div", &[], |html| {
                html.element("dt", &[], what);
                html.element("dd", &[("class", "number")], number);
                if !note.is_empty() {
                    html.element("dd", &[("class", "note")], note);
                }
            });
        }
    });
    types(html, run);
    shares(html, run);
    Ok(())
}

fn tiles(run: &RunFacts) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let summary = run.summary.as_ref();
    if let Some(latency) = &run.latency {
        // The summary times runs from outside, the recording from within: an interval belongs to the median of the same.
        let interval = summary.filter(|_| run.account.is_none()).and_then(|summary| summary.median_interval_95);
        let note = match interval {
            Some((low, high)) => format!("{} to {} with 95 % confidence", duration(low * 1e6), duration(high * 1e6)),
            None => format!("{} to {}", duration(latency.min), duration(latency.max)),
        };
        tiles.push(Tile("Median run", duration(latency.median), note));
        let percentiles = [("P99", 99.0, latency.p99), ("P90", 90.0, latency.p90)];
        let runs = usize::try_from(latency.runs).unwrap_or(usize::MAX);
        let mut carried = percentiles.into_iter().filter(|(_, percent, _)| carries_percentile(runs, *percent));
        if let Some((name, _, time)) = carried.next() {
            let note = carried.next().map(|(name, _, time)| format!("{name} {}", duration(time)));
            tiles.push(Tile(name, duration(time), note.unwrap_or_default()));
        }
        tiles.push(Tile("Runs", count(latency.runs), excluded(run)));
    }
    // Beside the median stands its own throughput; older summaries have only that of the mean.
    if let Some(throughput) =
        summary.filter(|_| run.is_timed()).and_then(|summary| summary.throughput_at_median.or(summary.throughput))
    {
        tiles.push(Tile("Throughput", format!("{} /s", trimmed(throughput.round())), "samples per second".to_owned()));
    }
    if let Some(slowest) = run.operators.rows.first() {
        tiles.push(Tile("Slowest operator", percent(slowest.percent), slowest.name.clone()));
    }
    if let Some(account) = &run.account
        && let Some(memory) = &account.tensor_memory
    {
        let note = format!("{} allocations", count(memory.allocations));
        tiles.push(Tile("Peak tensor memory", shown_size(memory.peak_bytes), note));
    } else if let Some(memory) = summary.and_then(|summary| summary.run_memory.as_ref()) {
        let note = memory.operator.as_ref().map_or(String::new(), |operator| format!("at {operator}"));
        tiles.push(Tile("Tensor memory of a run", shown_size(memory.bytes), note));
    }
    let copies =
        summary.filter(|_| run.is_timed()).map(|summary| [("Copy in", summary.upload), ("Copy out", summary.download)]);
    for (what, times) in copies.into_iter().flatten() {
        if let Some(Times { median, max, .. }) = times {
            tiles.push(Tile(what, duration(median * 1e6), format!("median; at most {}", duration(max * 1e6))));
        }
    }
    if let Some(dump) = &run.dump {
        tiles.push(Tile("Dumped tensors", count(dump.tensors as u64), shown_size(dump.bytes)));
        let bad = dump.first_bad.as_ref();
        let (number, note) = match bad {
            Some(bad) => (format!("{} NaN, {} Inf", count(bad.nan), count(bad.inf)), format!("first in {}", bad.value)),
            None => ("none".to_owned(), "every element is finite".to_owned()),
        };
        tiles.push(Tile("NaN or infinite", number, note));
    }
    tiles
}

/// Returns which runs do not count.
fn excluded(run: &RunFacts) -> String {
    let Some(account) = &run.account else { return String::new() };
    let counts = &account.runs;
    let excluded = [(counts.warm_up, "warm-up"), (counts.failed, "failed"), (counts.partial, "partial")];
    let excluded: Vec<String> =
        excluded.iter().filter(|(runs, _)| *runs > 0).map(|(runs, what)| format!("{} {what}", count(*runs))).collect();
    if excluded.is_empty() { String::new() } else { format!("{} not counted", excluded.join(", ")) }
}

/// The most operator types that are shown.
const MOST_TYPES: usize = 12;

/// The operator types by time, as a table whose rows have bars.
fn types(html: &mut Html, run: &RunFacts) {
    if run.types.is_empty() {
        return;
    }
    html.element("h4", &[], "Operator types");
    html.within("table", &[("class", "shares types")], |html| {
        html.raw("<thead><tr><th scope=\"col\">Type</th><th scope=\"col\" class=\"n\">Operators</th><th scope=\"col\" class=\"n\">Mean</th><th scope=\"col\" class=\"n\">Median</th><th scope=\"col\" class=\"n\">Share</th><td></td></tr></thead>");
        html.within("tbody", &[], |html| {
            for row in run.types.iter().take(MOST_TYPES) {
                html.within("tr", &[], |html| {
                    html.within("th", &[("scope", "row")], |html| {
                        html.text(&row.op_type);
                        if row.added {
                            html.element("small", &[], "added by the engine");
                        }
                    });
                    html.element("td", &[("class", "n")], count(row.operators));
                    html.element("td", &[("class", "n")], duration(row.mean));
                    html.element("td", &[("class", "n")], duration(row.median));
                    html.element("td", &[("class", "n")], percent(row.percent));
                    html.within("td", &[("class", "b")], |html| bar(html, row.percent, "c0"));
                });
            }
        });
    });
    let left = run.types.get(MOST_TYPES..).unwrap_or_default();
    if !left.is_empty() {
        let share: f64 = left.iter().map(|row| row.percent).sum();
        html.element("p", &[("class", "hint")], format!("{} more types take {}.", left.len(), percent(share)));
    }
}

/// The parts that are there only where an engine has them.
const ADDED: &str = "Added by the engine";
const PROFILE: &str = "The engine's own profile";

/// Where the time of a run goes, as a table whose rows have bars. The shares make 100 %.
fn shares(html: &mut Html, run: &RunFacts) {
    let Some(shares) = run.account.as_ref().and_then(|account| account.shares.as_ref()) else { return };
    let rows = [
        ("Operators", shares.operators, "c0"),
        (ADDED, shares.added, "c1"),
        ("Between operators", shares.between, "c2"),
        (PROFILE, shares.profile, "c4"),
        ("In and out", shares.in_out, "c3"),
    ];
    html.element("h4", &[], "Where the time of a run goes");
    html.within("table", &[("class", "shares")], |html| {
        html.raw("<thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"n\">Mean</th><th scope=\"col\" class=\"n\">Median</th><th scope=\"col\" class=\"n\">Share</th><td></td></tr></thead>");
        html.within("tbody", &[], |html| {
            for (name, share, class) in rows.into_iter().filter(|(name, share, _)| ![ADDED, PROFILE].contains(name) || share.total_ns > 0.0) {
                html.within("tr", &[], |html| {
                    html.element("th", &[("scope", "row")], name);
                    html.element("td", &[("class", "n")], duration(share.mean_ns));
                    html.element("td", &[("class", "n")], duration(share.median_ns));
                    html.element("td", &[("class", "n")], percent(share.percent));
                    html.within("td", &[("class", "b")], |html| bar(html, share.percent, class));
                });
            }
        });
    });
}

/// A bar of this many percent. The number stands beside it, so it is hidden from readers of the screen.
pub(super) fn bar(html: &mut Html, percent: f64, class: &str) {
    let width = format!("{}%", trimmed(percent.clamp(0.0, 100.0)));
    html.within("svg", &[("class", "bar"), ("aria-hidden", "true")], |html| {
        html.within("rect", &[("width", &width), ("height", "100%"), ("class", class)], |_| {});
    });
}

pub(super) fn surroundings(html: &mut Html, place: &Place<'_>) -> Result<(), ReportError> {
    html.within("dl", &[("class", "surroundings")], |html| {
        for (word, text) in &place.run.surroundings.0 {
            html.element("dt", &[], word);
            html.element("dd", &[], text);
        }
    });
    Ok(())
}
