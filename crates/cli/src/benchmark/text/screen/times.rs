//! How long a run takes, and how many runs there were.

use opscope::profile::carries_percentile;
use opscope::text::{TimeScale, display_width, grouped, shown_number, shown_time};
use opscope_job::benchmark::{Job, Measured, Report};

use super::{LABEL, LineLimits, labelled, sentence};
use crate::benchmark::text::View;

/// Copies are mentioned if they take more than this share of an inference.
const WORTH_A_WORD: f64 = 0.05;

pub fn lines(measured: &Measured, report: &Report, job: &Job, view: View, most: LineLimits) -> Vec<String> {
    let copies = measured.upload.median + measured.download.median;
    let copies = (copies > WORTH_A_WORD * measured.compute.median)
        .then(|| format!(", each with {} more to copy in and out", shown_time(copies * 1e6)));
    let with_copies = runs(measured, report, job, &copies.unwrap_or_default());
    let runs = match display_width(&with_copies) + LABEL <= view.width {
        true => with_copies,
        false => runs(measured, report, job, ""),
    };
    let mut lines = vec![labelled("inference", &inference(measured, view))];
    lines.extend(sentence("runs", &runs, view, most.sentence));
    lines
}

/// `3.73 ms (3.70 to 3.79)  P99 8.40 ms  1,070 samples/s`, without the last parts if they do not fit.
fn inference(measured: &Measured, view: View) -> String {
    let times = &measured.compute;
    let nanos = |millis: f64| millis * 1e6;
    let scale = TimeScale::of(nanos(times.median));
    let mut text = scale.time(nanos(times.median));
    let mut parts = Vec::new();
    if let Some((low, high)) = measured.median_interval_95 {
        parts.push(format!(" ({} to {})", scale.number(nanos(low)), scale.number(nanos(high))));
    }
    let percentiles = [("P99", 99.0, times.p99), ("P90", 90.0, times.p90)];
    let carried = percentiles.into_iter().find(|(_, percent, _)| carries_percentile(times.count, *percent));
    if let Some((name, _, time)) = carried {
        parts.push(format!("  {name} {}", shown_time(nanos(time))));
    }
    parts.push(format!("  {} samples/s", shown_number(measured.throughput_at_median)));
    for part in parts {
        if LABEL + display_width(&text) + display_width(&part) > view.width {
            break;
        }
        text += &part;
    }
    text
}

/// Runs with a profiler are called slower if they take more than this many times as long.
const SLOWER: f64 = 1.5;

/// `1,000, 2 at a time; then 50 with a profiler, for the operators below`
fn runs(measured: &Measured, report: &Report, job: &Job, copies: &str) -> String {
    let count = measured.compute.count;
    let mut text = grouped(count as u64);
    if report.engine.concurrent_runs > 1 {
        text += &format!(", {} at a time", report.engine.concurrent_runs);
    }
    text += copies;
    if let Some(profile) = &report.profile {
        let is_whole = profile.runs_beyond_budget == 0;
        text += if is_whole { ", all with the profiler" } else { ", with the profiler until the recording was full" };
    } else if let Some(beside) = report.beside.as_ref().filter(|_| measured.by_shape.len() <= 1) {
        let runs = grouped(beside.runs.measured);
        let profiled = beside.run.median_ns;
        let slower = if profiled > SLOWER * measured.compute.median * 1e6 {
            format!(" ({} each)", shown_time(profiled))
        } else {
            String::new()
        };
        text += &format!("; then {runs} with a profiler{slower}, for the operators below");
    }
    let could_be_more = job.repetition.duration.is_none() && report.dump.is_none() && report.debugger.is_none();
    if count == 1 && could_be_more {
        text += "; --duration 2 measures for two seconds";
    }
    text
}
