//! The report with all numbers.

use std::fmt::Write;

use opscope::model::Fidelity;
use opscope::profile::{Account, EngineInfo, carries_percentile};
use opscope::text::Column::{Numbers, Words};
use opscope::text::{TextTable, counted, grouped, shell_path, shown_number, shown_size, shown_text, wrapped};
use opscope_job::benchmark::{Latency, Measured, MemorySummary, Report};
use opscope_job::verify::Verification;

use super::shapes::{shapes_of_files, table_of_shapes};
use super::{View, inputs, made_up, six, timed_plan};
use crate::benchmark::millis;
use crate::options::TextForm;
use crate::terminal::shown_path;

/// Formats the report as text with all details.
pub fn render(report: &Report, view: View) -> String {
    let mut text = String::new();
    head(&mut text, report);
    match &report.measurements[..] {
        [one] if report.dym_shape_range.is_none() => measured(&mut text, one, report, view),
        _ => {
            if report.left_out_shapes > 0 {
                let left_out = report.left_out_shapes;
                let because = "one name of a dimension with two sizes";
                let _ = writeln!(text, "note      {left_out} sets of shapes left out: {because}");
            }
            let _ = write!(text, "\n{}", table_of_shapes(report, view, usize::MAX).text());
        }
    }
    let account = |account: &Account| account.to_text_within(view.rows, view.width).trim_end().to_owned();
    if let Some(beside) = report.beside.as_ref().filter(|_| view.form != TextForm::OtherTools) {
        let runs = counted(grouped(beside.runs.measured), "run");
        let _ = writeln!(text, "\nThe following is of {runs} with a profiler, which followed the measured ones.");
        let _ = writeln!(text, "{}", account(beside));
    }
    if let Some(profile) = &report.profile {
        if let Some(recorded) = &profile.account {
            let _ = writeln!(text, "\n{}", account(recorded));
        }
        let directory = shown_path(&profile.directory);
        let _ = writeln!(text, "\nprofile   {directory}");
        let _ = writeln!(text, "          records.bin ({})", shown_size(profile.recording_bytes));
        for export in &profile.exports {
            let _ = writeln!(text, "          {}", export.file_name().unwrap_or_default().to_string_lossy());
        }
        if profile.exports.is_empty() {
            let _ = writeln!(text, "          export it with: opscope export {}", shell_path(&profile.directory));
        }
    }
    if let Some(dump) = &report.dump {
        let size = shown_size(dump.bytes);
        let _ = writeln!(text, "\ndump      {}", shown_path(&dump.directory));
        let _ = writeln!(text, "          {}, {size}, {} missing", counted(dump.tensors, "tensor"), dump.missing);
    }
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let runs = counted(debugger.stopped_runs, "run");
        let _ = writeln!(text, "\ndebugger  stopped {runs}; the times above include their waiting");
    }
    if let Some(outputs) = &report.outputs {
        let _ = writeln!(text, "outputs   {}", shown_path(outputs));
    }
    if let Some(summary) = &report.summary {
        let _ = writeln!(text, "summary   {}", shown_path(summary));
    }
    text
}

fn head(text: &mut String, report: &Report) {
    let (model, engine) = (&report.model, &report.engine);
    let path = shown_path(&model.path);
    let _ = writeln!(text, "model     {path} ({}, xxh3 {})", counted(model.operators, "operator"), model.xxh3);
    let threads = if engine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", engine.threads) };
    let runs = if engine.concurrent_runs == 1 {
        String::new()
    } else {
        format!(", {} runs at a time", engine.concurrent_runs)
    };
    let exact = if engine.fidelity == Fidelity::Exact { " (these are not the model's times)" } else { "" };
    let _ =
        writeln!(text, "engine    {} {}, {}{exact}, {threads}{runs}", engine.name, engine.version, timed_plan(report));
    if let Some(settings) = settings(engine) {
        let _ = writeln!(text, "          {settings}");
    }
    let _ = writeln!(text, "machine   {}, {} processors", shown_text(&report.machine.cpu), report.machine.processors);
    let peak = shown_size(report.peak_memory_bytes);
    let plan: f64 = report.measurements.iter().map(|measured| measured.plan_ms).sum();
    let _ = writeln!(text, "load      {}, plan {}, peak memory {peak}", millis(report.load_ms), millis(plan));
}

/// Formats the settings of an engine, without the path of its library and without defaults; `None` for an engine
/// without settings.
fn settings(engine: &EngineInfo) -> Option<String> {
    const AS_ALWAYS: [(&str, &str); 2] = [("allow_spinning", "true"), ("execution_mode", "sequential")];
    let is_shown = |name: &str, value: &str| name != "library" && !AS_ALWAYS.contains(&(name, value));
    let shown = engine.settings.iter().filter(|(name, value)| is_shown(name, value));
    let shown: Vec<String> = shown.map(|(name, value)| shown_text(&format!("{name} {value}")).into_owned()).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// Formats the memory of a run: `208.0 KiB of tensors at once in a run, at /conv1/Conv`.
fn memory(memory: &MemorySummary) -> String {
    let mut line = format!("{} of tensors at once in a run", shown_size(memory.bytes));
    if let Some(operator) = &memory.operator {
        let _ = write!(line, ", at {}", shown_text(operator));
    }
    if memory.unknown > 0 {
        let _ = write!(line, "; the sizes of {} more are not known before they are computed", memory.unknown);
    }
    line
}

fn measured(text: &mut String, measured: &Measured, report: &Report, view: View) {
    let others = match measured.by_shape.len() {
        0 | 1 => String::new(),
        shapes => format!(" at first; {shapes} shapes in all"),
    };
    let _ = writeln!(text, "inputs    {}{others}", inputs(&measured.inputs));
    if let Some(needed) = &measured.run_memory {
        let _ = writeln!(text, "memory    {}", memory(needed));
    }
    if let Some(open) = made_up(measured) {
        let _ = writeln!(text, "note      {open}");
    }
    for note in &measured.notes {
        let _ = writeln!(text, "note      {}", shown_text(note));
    }
    for (index, sentence) in verified(measured).iter().enumerate() {
        for (line, part) in wrapped(&shown_text(sentence), view.width.saturating_sub(10)).iter().enumerate() {
            let label = if (index, line) == (0, 0) { "verified" } else { "" };
            let _ = writeln!(text, "{label:<10}{part}");
        }
    }
    text.push('\n');
    text.push_str(&times(measured, view).text());
    let runs = grouped(measured.compute.count as u64);
    let _ = match measured.median_interval_95 {
        Some((low, high)) => {
            writeln!(text, "runs      {runs}; the median is {} to {} ms with 95 % confidence", six(low), six(high))
        }
        None => writeln!(text, "runs      {runs}"),
    };
    text.push_str(&throughput(measured, report, view));
    if measured.by_shape.len() > 1 {
        let _ = write!(text, "\n{}", shapes_of_files(measured, view, usize::MAX).text());
    }
}

/// Makes the table of times. In other tools' command lines, it has all percentiles for any number of runs.
fn times(measured: &Measured, view: View) -> TextTable {
    type Statistic = (&'static str, f64, fn(&Latency) -> f64);
    const STATISTICS: [Statistic; 8] = [
        ("min", 0.0, |times| times.min),
        ("mean", 0.0, |times| times.mean),
        ("median", 0.0, |times| times.median),
        ("P90", 90.0, |times| times.p90),
        ("P95", 95.0, |times| times.p95),
        ("P99", 99.0, |times| times.p99),
        ("P99.9", 99.9, |times| times.p999),
        ("max", 0.0, |times| times.max),
    ];
    let is_theirs = view.form == TextForm::OtherTools;
    let is_shown = |(_, percent, _): &&Statistic| {
        *percent == 0.0 || is_theirs || carries_percentile(measured.compute.count, *percent)
    };
    let shown: Vec<_> = STATISTICS.iter().filter(is_shown).collect();
    let titles = shown.iter().map(|(title, ..)| Numbers(title));
    let mut table = TextTable::new([Words("milliseconds")].into_iter().chain(titles).collect::<Vec<_>>());
    let names = match is_theirs {
        true => ["NPU_compute_time", "H2D_latency", "D2H_latency"],
        false => ["inference", "copy in", "copy out"],
    };
    for (name, times) in names.into_iter().zip([&measured.compute, &measured.upload, &measured.download]) {
        let numbers = shown.iter().map(|(_, _, statistic)| six(statistic(times)));
        table.row([name.to_owned()].into_iter().chain(numbers));
    }
    table
}

fn throughput(measured: &Measured, report: &Report, view: View) -> String {
    let (batch, together) = (measured.batchsize, report.engine.concurrent_runs);
    if view.form != TextForm::OtherTools {
        let of = if together > 1 { format!("of {together} runs at a time") } else { "at the median".to_owned() };
        let rate = shown_number(measured.throughput_at_median);
        return format!("throughput {rate} samples/s {of}, {batch} in a run\n");
    }
    // For runs that overlap, these tools define the mean as the time during which any run was in progress, divided by
    // the number of runs.
    let mean = if together > 1 { 1000.0 * batch / measured.throughput } else { measured.compute.mean };
    let rate = measured.throughput;
    format!("throughput 1000*batchsize.mean({batch})/NPU_compute_time.mean({mean:.4}): {rate:.4}\n")
}

fn verified(measured: &Measured) -> Vec<String> {
    let verification = measured.verification.as_ref();
    let details = verification.map(Verification::details).unwrap_or_default();
    verification.map(Verification::sentence).into_iter().chain(details).collect()
}
