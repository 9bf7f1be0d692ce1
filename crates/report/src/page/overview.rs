//! The summary: the most important numbers first, and then what the run ran on.

use opscope_profile::{Share, Shares, carries_percentile};
use opscope_text::shown_size;

use super::RunOnPage;
use super::html::Html;
use crate::ReportError;
use crate::facts::{Latency, RunFacts};
use crate::source::{SavedInput, Summary, Times};
use crate::units::{count, duration, percent, trimmed};

/// A number of the summary: its title, the number, and additional lines.
struct Tile(&'static str, String, Vec<String>);

pub(super) fn summary(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let run = place.run;
    html.within("dl", &[("class", "tiles")], |html| {
        for Tile(what, number, notes) in tiles(run) {
            html.within("div", &[], |html| {
                html.element("dt", &[], what);
                html.element("dd", &[("class", "number")], number);
                for note in notes.iter().filter(|note| !note.is_empty()) {
                    html.element("dd", &[("class", "note")], note);
                }
            });
        }
    });
    shapes(html, run);
    types(html, run);
    shares(html, run);
    Ok(())
}

fn tiles(run: &RunFacts) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let summary = run.summary.as_ref();
    if let Some(latency) = &run.latency {
        let mut notes = Vec::new();
        if let Some((low, high)) = latency.interval {
            notes.push(format!("{} to {} with 95 % confidence", duration(low), duration(high)));
        }
        notes.push(format!("shortest {}, longest {}", duration(latency.min), duration(latency.max)));
        notes.push(of_runs(latency));
        tiles.push(Tile("Median run", duration(latency.median), notes));
        let percentiles = [("P99", 99.0, latency.p99), ("P90", 90.0, latency.p90)];
        let runs = usize::try_from(latency.runs).unwrap_or(usize::MAX);
        let mut carried = percentiles.into_iter().filter(|(_, percent, _)| carries_percentile(runs, *percent));
        if let Some((name, _, time)) = carried.next() {
            let note = carried.next().map(|(name, _, time)| format!("{name} {}", duration(time)));
            tiles.push(Tile(name, duration(time), vec![note.unwrap_or_default(), of_runs(latency)]));
        }
        let what = if latency.is_recorded { "Recorded runs" } else { "Runs" };
        tiles.push(Tile(what, count(latency.runs), vec![excluded(run)]));
    }
    let timed = summary.filter(|_| run.is_timed());
    // The throughput at the median belongs to the median. Older summaries have only the throughput at the mean.
    if let Some(summary) = timed
        && let Some(throughput) = summary.throughput_at_median.or(summary.throughput)
    {
        let mut notes = vec!["samples per second".to_owned()];
        if let Some(times) = summary.compute.as_ref().filter(|_| summary.throughput_at_median.is_some()) {
            notes.push(format!("of a run of {}, the median of {}", duration(times.median * 1e6), of_summary(summary)));
        }
        tiles.push(Tile("Throughput", format!("{} /s", trimmed(throughput.round())), notes));
    }
    if let Some(slowest) = run.operators.rows.first() {
        let median = format!("median {}", duration(slowest.median));
        tiles.push(Tile("Slowest operator", percent(slowest.percent), vec![slowest.display_name().to_owned(), median]));
    }
    if let Some(account) = &run.account
        && let Some(memory) = &account.tensor_memory
    {
        let note = format!("{} allocations, of all runs, also those that warm up", count(memory.allocations));
        tiles.push(Tile("Peak tensor memory", shown_size(memory.peak_bytes), vec![note]));
    } else if let Some(memory) = summary.and_then(|summary| summary.run_memory.as_ref()) {
        let note =
            memory.operator.as_ref().map_or(String::new(), |operator| format!("at {}", run.display_name(operator)));
        tiles.push(Tile("Tensor memory of a run", shown_size(memory.bytes), vec![note]));
    }
    if let Some(summary) = timed {
        for (what, times) in [("Copy in", summary.upload), ("Copy out", summary.download)] {
            if let Some(Times { median, max, .. }) = times {
                let notes =
                    vec![format!("median of {}", of_summary(summary)), format!("longest {}", duration(max * 1e6))];
                tiles.push(Tile(what, duration(median * 1e6), notes));
            }
        }
    }
    if let Some(dump) = &run.dump {
        tiles.push(Tile("Dumped tensors", count(dump.tensors as u64), vec![shown_size(dump.bytes)]));
        let (number, notes) = match &dump.first_bad {
            Some(bad) => (
                format!("{} of {}", count(dump.bad.tensors as u64), count(dump.tensors as u64)),
                vec![
                    "tensors".to_owned(),
                    format!("{} NaN, {} infinite elements", count(dump.bad.nan), count(dump.bad.inf)),
                    format!("first in {}", bad.value),
                ],
            ),
            None if !dump.problems.is_empty() => {
                ("none found".to_owned(), vec!["the dump is incomplete, so others may have them".to_owned()])
            }
            None if dump.tensors == 0 => ("–".to_owned(), vec!["the dump has no tensors".to_owned()]),
            None => ("none".to_owned(), vec!["every element of the dump is finite".to_owned()]),
        };
        tiles.push(Tile("NaN or infinite", number, notes));
    }
    tiles
}

/// Returns a text that says what the times of a latency refer to.
fn of_runs(latency: &Latency) -> String {
    let runs = if latency.runs == 1 { "run" } else { "runs" };
    let recorded = if latency.is_recorded { "recorded " } else { "" };
    format!("of {} {recorded}{runs}", count(latency.runs))
}

/// Returns a text that says what the times of a summary refer to.
fn of_summary(summary: &Summary) -> String {
    match summary.compute.as_ref().and_then(|times| times.count) {
        Some(1) => "the 1 run of the summary".to_owned(),
        Some(runs) => format!("the {} runs of the summary", count(runs)),
        None => "the runs of the summary".to_owned(),
    }
}

/// Writes the times of each shape, if runs have several.
fn shapes(html: &mut Html, run: &RunFacts) {
    let shapes = run.summary.as_ref().filter(|_| run.is_timed()).map_or(&[][..], Summary::shapes);
    let is_of_first = run.summary.as_ref().is_some_and(Summary::is_of_first_shape);
    let number = shapes.len().max(run.plans);
    if number < 2 {
        return;
    }
    let number = count(number as u64);
    let text = match (run.plans > 1, is_of_first) {
        (true, _) => format!(
            "The recorded runs are of {number} sets of shapes, put together: no number of them is that of one shape."
        ),
        (false, true) => format!("The numbers above are those of the first of {number} sets of shapes."),
        (false, false) => {
            format!("The runs are of {number} sets of shapes, put together: no number above is that of one shape.")
        }
    };
    html.element("p", &[("class", "finding bad several")], text);
    if shapes.is_empty() {
        return;
    }
    html.element("h4", &[], "Each set of shapes alone, by the summary");
    html.within("div", &[("class", "within")], |html| {
        html.within("table", &[("class", "shapes")], |html| {
            html.raw("<thead><tr><th scope=\"col\">Inputs</th><th scope=\"col\" class=\"n\">Runs</th><th scope=\"col\" class=\"n\">Median</th><th scope=\"col\" class=\"n\">Longest</th><th scope=\"col\" class=\"n\">Samples per second</th></tr></thead>");
            html.within("tbody", &[], |html| {
                for shape in shapes.iter().take(MOST_SHAPES) {
                    let times = &shape.compute;
                    html.within("tr", &[], |html| {
                        html.element("th", &[("scope", "row")], shown_inputs(&shape.inputs));
                        html.element("td", &[("class", "n")], times.count.map_or_else(|| "–".to_owned(), count));
                        html.element("td", &[("class", "n")], duration(times.median * 1e6));
                        html.element("td", &[("class", "n")], duration(times.max * 1e6));
                        let throughput = shape.throughput_at_median.map_or_else(|| "–".to_owned(), |rate| trimmed(rate.round()));
                        html.element("td", &[("class", "n")], throughput);
                    });
                }
            });
        });
    });
    if shapes.len() > MOST_SHAPES {
        let text = format!("{} more are not shown.", count((shapes.len() - MOST_SHAPES) as u64));
        html.element("p", &[("class", "hint")], text);
    }
}

/// How many sets of shapes are shown at most.
const MOST_SHAPES: usize = 100;

fn shown_inputs(inputs: &[SavedInput]) -> String {
    let shown = |input: &SavedInput| {
        let shape: Vec<String> = input.shape.iter().map(u64::to_string).collect();
        format!("{} [{}]", input.name, shape.join(", "))
    };
    inputs.iter().map(shown).collect::<Vec<_>>().join("; ")
}

/// Returns a text that says which runs are excluded.
fn excluded(run: &RunFacts) -> String {
    let Some(account) = &run.account else { return String::new() };
    let counts = &account.runs;
    let excluded = [(counts.warm_up, "warm-up"), (counts.failed, "failed"), (counts.partial, "partial")];
    let excluded: Vec<String> =
        excluded.iter().filter(|(runs, _)| *runs > 0).map(|(runs, what)| format!("{} {what}", count(*runs))).collect();
    if excluded.is_empty() { String::new() } else { format!("{} not counted", excluded.join(", ")) }
}

/// How many operator types are shown at most.
const MOST_TYPES: usize = 12;

/// Writes the operator types by time, as a table whose rows have bars.
fn types(html: &mut Html, run: &RunFacts) {
    if run.types.is_empty() {
        return;
    }
    html.element("h4", &[], "Operator types");
    html.within("table", &[("class", "shares types")], |html| {
        html.raw("<thead><tr><th scope=\"col\">Type</th><th scope=\"col\" class=\"n\">Operators</th><th scope=\"col\" class=\"n\">Median</th><th scope=\"col\" class=\"n\">Share</th><td></td></tr></thead>");
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

/// The parts that exist only if an engine adds them.
const ADDED: &str = "Added by the engine";
const PROFILE: &str = "The engine's own profile";
const REST: &str = "In none of these parts";

/// Writes where the time of a run goes, as a table whose rows have bars. The shares are those of medians, as in all
/// tables.
fn shares(html: &mut Html, run: &RunFacts) {
    let Some(account) = &run.account else { return };
    if let Some(shares) = &account.shares {
        shares_of(html, shares, account.run.median_ns);
    }
    devices::devices(html, &account.devices);
}

/// A part of a run: its median time, and its share in percent.
struct Part {
    name: &'static str,
    nanos: f64,
    percent: f64,
    class: &'static str,
}

/// Writes parts of a run as a table whose rows have bars.
fn parts_table(html: &mut Html, parts: impl Iterator<Item = Part>) {
    html.within("table", &[("class", "shares")], |html| {
        html.raw("<thead><tr><th scope=\"col\">Part</th><th scope=\"col\" class=\"n\">Median</th><th scope=\"col\" class=\"n\">Share</th><td></td></tr></thead>");
        html.within("tbody", &[], |html| {
            for part in parts {
                html.within("tr", &[], |html| {
                    html.element("th", &[("scope", "row")], part.name);
                    html.element("td", &[("class", "n")], duration(part.nanos));
                    html.element("td", &[("class", "n")], percent(part.percent));
                    html.within("td", &[("class", "b")], |html| bar(html, part.percent, part.class));
                });
            }
        });
    });
}

/// Writes the parts of a run that takes `median` nanoseconds.
fn shares_of(html: &mut Html, shares: &Shares, median: f64) {
    let rows = [
        ("Operators", shares.operators, "c0"),
        (ADDED, shares.added, "c1"),
        ("Between operators", shares.between, "c2"),
        (PROFILE, shares.profile, "c4"),
        ("In and out", shares.in_out, "c3"),
        (REST, shares.rest, "c5"),
    ];
    let is_shown = |name: &str, share: &Share| match name {
        ADDED | PROFILE => share.total_ns > 0.0,
        REST => share.percent.abs() >= 0.005,
        _ => true,
    };
    html.element("h4", &[], "Where the time of a run goes");
    let shown = rows.into_iter().filter(|(name, share, _)| is_shown(name, share));
    let of_median = |nanos: f64| if median > 0.0 { 100.0 * nanos / median } else { 0.0 };
    parts_table(
        html,
        shown.map(|(name, share, class)| Part {
            name,
            nanos: share.median_ns,
            percent: of_median(share.median_ns),
            class,
        }),
    );
    let text = "Medians over the recorded runs, and what they are of the median run. Medians of parts need not make 100 % together.";
    html.element("p", &[("class", "hint")], text);
    // The result of a benchmark shows this number as (between).
    let outside = shares.between.median_ns + shares.in_out.median_ns;
    let whole = median - shares.profile.median_ns;
    if whole > 0.0 {
        let text = format!(
            "No operator is executed for {:.1} % of a run{}.",
            100.0 * outside / whole,
            if shares.profile.median_ns > 0.0 { " without the engine's own profile" } else { "" }
        );
        html.element("p", &[("class", "hint")], text);
    }
}

/// Writes a bar of this many percent. The number is beside it, so the bar is hidden from screen readers.
pub(super) fn bar(html: &mut Html, percent: f64, class: &str) {
    let width = format!("{}%", trimmed(percent.clamp(0.0, 100.0)));
    html.within("svg", &[("class", "bar"), ("aria-hidden", "true")], |html| {
        html.within("rect", &[("width", &width), ("height", "100%"), ("class", class)], |_| {});
    });
}

pub(super) fn surroundings(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    html.within("dl", &[("class", "surroundings")], |html| {
        for (word, text) in &place.run.surroundings.0 {
            html.element("dt", &[], word);
            html.element("dd", &[], text);
        }
    });
    Ok(())
}

mod devices;
#[cfg(test)]
mod tests;
