//! A report as text.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use opscope::benchmark::{Job, Latency, Measured, Report};
use opscope::dump::Estimate;
use opscope::verify::Verification;

use super::millis;

/// Rows of the tables of operators and types.
const TOP: usize = 10;

/// The report as a person reads it.
pub fn render(report: &Report, job: &Job) -> String {
    let mut text = String::new();
    head(&mut text, report);
    match &report.measurements[..] {
        [one] => measured(&mut text, one, report),
        several => shapes(&mut text, several),
    }
    if let Some(profile) = &report.profile {
        if let Some(account) = &profile.account {
            let _ = writeln!(text, "\n{}", account.to_text(TOP).trim_end());
        }
        let _ = writeln!(text, "\nprofile   {}", profile.directory.display());
        for export in &profile.exports {
            let _ = writeln!(text, "          {}", export.file_name().unwrap_or_default().to_string_lossy());
        }
        if profile.exports.is_empty() {
            let _ = writeln!(text, "          export it with: opscope export {}", profile.directory.display());
        }
    }
    if let Some(dump) = &report.dump {
        let mebibytes = dump.bytes as f64 / f64::from(1 << 20);
        let _ = writeln!(text, "\ndump      {}", dump.directory.display());
        let _ = writeln!(text, "          {} tensors, {mebibytes:.1} MiB, {} missing", dump.tensors, dump.missing);
    }
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let runs = if debugger.stopped_runs == 1 { "1 run" } else { &format!("{} runs", debugger.stopped_runs) };
        let _ = writeln!(text, "\ndebugger  stopped {runs}; their waiting is a part of the times above");
    }
    if let Some((directory, _)) = &job.output {
        let run = directory.join(&report.run);
        let _ = writeln!(text, "outputs   {}", run.display());
        let _ = writeln!(text, "summary   {}_summary.json", run.display());
    }
    text
}

/// What dumps would be, one for every set of shapes, for machines.
pub fn estimates_json(estimates: &[Estimate]) -> serde_json::Value {
    let all = estimates.iter().map(|estimate| {
        serde_json::json!({
            "tensors": estimate.tensors, "bytes": estimate.bytes, "unknown": estimate.unknown,
            "missing": estimate.missing, "at_most": estimate.at_most,
        })
    });
    serde_json::json!({ "schema": "opscope.dump-estimate/1", "dumps": all.collect::<Vec<_>>() })
}

/// The same for people.
pub fn estimates(estimates: &[Estimate]) -> String {
    let line = |estimate: &Estimate| {
        let mebibytes = estimate.bytes as f64 / f64::from(1 << 20);
        let at_most = if estimate.at_most { "at most " } else { "" };
        let mut line = format!("{at_most}{} tensors, {mebibytes:.1} MiB", estimate.tensors);
        if estimate.unknown > 0 {
            let _ = write!(line, "; the sizes of {} more are not known before they are computed", estimate.unknown);
        }
        if estimate.missing > 0 {
            let _ = write!(line, "; {} cannot be had", estimate.missing);
        }
        line
    };
    estimates.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn head(text: &mut String, report: &Report) {
    let (model, engine) = (&report.model, &report.engine);
    let _ = writeln!(text, "model     {} ({} operators, xxh3 {})", model.path.display(), model.operators, model.xxh3);
    let threads = if engine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", engine.threads) };
    let runs = if engine.concurrent_runs == 1 {
        String::new()
    } else {
        format!(", {} runs at a time", engine.concurrent_runs)
    };
    let exact = if engine.fidelity == "exact" { " (these are not the model's times)" } else { "" };
    let _ = writeln!(text, "engine    {} {}, {}{exact}, {threads}{runs}", engine.name, engine.version, engine.fidelity);
    let _ = writeln!(text, "machine   {}, {} processors", report.machine.cpu, report.machine.processors);
    let peak = report.peak_memory_bytes as f64 / f64::from(1 << 20);
    let plan: f64 = report.measurements.iter().map(|measured| measured.plan_ms).sum();
    let _ = writeln!(text, "load      {}, plan {}, peak memory {peak:.1} MiB", millis(report.load_ms), millis(plan));
}

fn inputs(measured: &Measured) -> String {
    let inputs = measured.inputs.iter().map(|input| format!("{} {} {:?}", input.name, input.dtype, input.shape));
    inputs.collect::<Vec<_>>().join("; ")
}

fn measured(text: &mut String, measured: &Measured, report: &Report) {
    let _ = writeln!(text, "inputs    {}", inputs(measured));
    for note in &measured.notes {
        let _ = writeln!(text, "note      {note}");
    }
    for (index, sentence) in verified(measured).iter().enumerate() {
        let _ = writeln!(text, "{}{sentence}", if index == 0 { "verified  " } else { "          " });
    }
    text.push('\n');
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["milliseconds", "min", "mean", "median", "P90", "P95", "P99", "P99.9", "max", "count"]);
    let rows: [(&str, &Latency); 3] = [
        ("NPU_compute_time", &measured.compute),
        ("H2D_latency", &measured.upload),
        ("D2H_latency", &measured.download),
    ];
    for (name, times) in rows {
        let numbers = [times.min, times.mean, times.median, times.p90, times.p95, times.p99, times.p999, times.max];
        let mut row = vec![name.to_owned()];
        row.extend(numbers.map(|number| format!("{number:.4}")));
        row.push(times.count.to_string());
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    if let Some((low, high)) = measured.median_interval_95 {
        let _ = writeln!(text, "median    {low:.4} to {high:.4} ms with 95 % confidence");
    }
    let mean = if report.engine.concurrent_runs > 1 {
        1000.0 * measured.batchsize / measured.throughput
    } else {
        measured.compute.mean
    };
    let _ = writeln!(
        text,
        "throughput 1000*batchsize.mean({})/NPU_compute_time.mean({mean:.4}): {:.4}",
        measured.batchsize, measured.throughput
    );
}

fn verified(measured: &Measured) -> Vec<String> {
    measured.verification.as_ref().map(Verification::sentences).unwrap_or_default()
}

/// One line for every set of shapes, the highest throughput first.
fn shapes(text: &mut String, several: &[Measured]) {
    let mut sorted: Vec<&Measured> = several.iter().collect();
    sorted.sort_by(|a, b| b.throughput.total_cmp(&a.throughput));
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["shapes", "mean ms", "median ms", "P99 ms", "throughput"]);
    for measured in sorted {
        let times = &measured.compute;
        let numbers = [times.mean, times.median, times.p99, measured.throughput];
        let mut row = vec![inputs(measured)];
        row.extend(numbers.map(|number| format!("{number:.4}")));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "\n{}", table.trim_fmt());
}
