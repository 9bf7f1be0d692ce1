//! A report as text.

use std::fmt::Write;

use opscope::benchmark::{InputSummary, Job, Latency, Measured, MemorySummary, Report};
use opscope::dump::Estimate;
use opscope::model::Fidelity;
use opscope::profile::EngineInfo;
use opscope::text::Column::{Beginnings, Numbers, Words};
use opscope::text::{TextTable, shown_size, shown_text};
use opscope::verify::Verification;

use super::millis;
use crate::terminal::shown_path;

/// The report as text, with at most `rows` rows in each of the profile's tables.
pub fn render(report: &Report, job: &Job, rows: usize) -> String {
    let mut text = String::new();
    head(&mut text, report);
    match &report.measurements[..] {
        [one] if report.dym_shape_range.is_none() => measured(&mut text, one, report),
        _ => shapes(&mut text, report),
    }
    if let Some(profile) = &report.profile {
        if let Some(account) = &profile.account {
            let _ = writeln!(text, "\n{}", account.to_text(rows).trim_end());
        }
        let directory = shown_path(&profile.directory);
        let _ = writeln!(text, "\nprofile   {directory}");
        for export in &profile.exports {
            let _ = writeln!(text, "          {}", export.file_name().unwrap_or_default().to_string_lossy());
        }
        if profile.exports.is_empty() {
            let _ = writeln!(text, "          export it with: opscope export {directory}");
        }
    }
    if let Some(dump) = &report.dump {
        let size = shown_size(dump.bytes);
        let _ = writeln!(text, "\ndump      {}", shown_path(&dump.directory));
        let _ = writeln!(text, "          {} tensors, {size}, {} missing", dump.tensors, dump.missing);
    }
    if let Some(debugger) = report.debugger.as_ref().filter(|debugger| debugger.stopped_runs > 0) {
        let runs = if debugger.stopped_runs == 1 { "1 run" } else { &format!("{} runs", debugger.stopped_runs) };
        let _ = writeln!(text, "\ndebugger  stopped {runs}; the times above include their waiting");
    }
    if let Some(output) = &job.output {
        let run = shown_path(&output.directory.join(&report.run));
        let _ = writeln!(text, "outputs   {run}");
        let _ = writeln!(text, "summary   {run}_summary.json");
    }
    text
}

/// The estimated dumps, one for each set of shapes, as JSON.
pub fn estimates_json(estimates: &[Estimate]) -> serde_json::Value {
    let all = estimates.iter().map(|estimate| {
        serde_json::json!({
            "tensors": estimate.tensors, "bytes": estimate.bytes, "unknown": estimate.unknown,
            "missing": estimate.missing, "at_most": estimate.at_most,
        })
    });
    serde_json::json!({ "schema": "opscope.dump-estimate/1", "dumps": all.collect::<Vec<_>>() })
}

/// The estimated dumps as text.
pub fn estimates(estimates: &[Estimate]) -> String {
    let line = |estimate: &Estimate| {
        let at_most = if estimate.at_most { "at most " } else { "" };
        let mut line = format!("{at_most}{} tensors, {}", estimate.tensors, shown_size(estimate.bytes));
        if estimate.unknown > 0 {
            let _ = write!(line, "; the sizes of {} more are not known before they are computed", estimate.unknown);
        }
        if estimate.missing > 0 {
            let _ = write!(line, "; {} cannot be captured", estimate.missing);
        }
        line
    };
    estimates.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn head(text: &mut String, report: &Report) {
    let (model, engine) = (&report.model, &report.engine);
    let path = shown_path(&model.path);
    let _ = writeln!(text, "model     {path} ({} operators, xxh3 {})", model.operators, model.xxh3);
    let threads = if engine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", engine.threads) };
    let runs = if engine.concurrent_runs == 1 {
        String::new()
    } else {
        format!(", {} runs at a time", engine.concurrent_runs)
    };
    let exact = if engine.fidelity == Fidelity::Exact { " (these are not the model's times)" } else { "" };
    let _ = writeln!(text, "engine    {} {}, {}{exact}, {threads}{runs}", engine.name, engine.version, engine.fidelity);
    if let Some(settings) = settings(engine) {
        let _ = writeln!(text, "          {settings}");
    }
    let _ = writeln!(text, "machine   {}, {} processors", shown_text(&report.machine.cpu), report.machine.processors);
    let peak = shown_size(report.peak_memory_bytes);
    let plan: f64 = report.measurements.iter().map(|measured| measured.plan_ms).sum();
    let _ = writeln!(text, "load      {}, plan {}, peak memory {peak}", millis(report.load_ms), millis(plan));
}

/// How an engine is set up, without the path of its library and what is as always; `None` for an engine without settings.
fn settings(engine: &EngineInfo) -> Option<String> {
    const AS_ALWAYS: [(&str, &str); 2] = [("allow_spinning", "true"), ("execution_mode", "sequential")];
    let is_shown = |name: &str, value: &str| name != "library" && !AS_ALWAYS.contains(&(name, value));
    let shown = engine.settings.iter().filter(|(name, value)| is_shown(name, value));
    let shown: Vec<String> = shown.map(|(name, value)| shown_text(&format!("{name} {value}")).into_owned()).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// The inputs on one line: `ids int64 [1, 8]; mask int64 [1, 8]`.
fn inputs(inputs: &[InputSummary]) -> String {
    let inputs = inputs.iter().map(|input| format!("{} {} {:?}", shown_text(&input.name), input.dtype, input.shape));
    inputs.collect::<Vec<_>>().join("; ")
}

/// The memory of a run: `208.0 KiB of tensors at once in a run, at /conv1/Conv`.
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

fn measured(text: &mut String, measured: &Measured, report: &Report) {
    let others = match measured.by_shape.len() {
        0 | 1 => String::new(),
        shapes => format!(" at first; {shapes} shapes in all"),
    };
    let _ = writeln!(text, "inputs    {}{others}", inputs(&measured.inputs));
    if let Some(needed) = &measured.run_memory {
        let _ = writeln!(text, "memory    {}", memory(needed));
    }
    let open = &measured.made_up_dimensions;
    if !open.is_empty() {
        let (names, are) = (open.join(", "), if open.len() == 1 { "is" } else { "are" });
        let names = shown_text(&names);
        let _ = writeln!(text, "note      {names} {are} open in the file and 1 here; --dym-shape or --input sets more");
    }
    for note in &measured.notes {
        let _ = writeln!(text, "note      {}", shown_text(note));
    }
    for (index, sentence) in verified(measured).iter().enumerate() {
        let label = if index == 0 { "verified" } else { "" };
        let _ = writeln!(text, "{label:<10}{}", shown_text(sentence));
    }
    text.push('\n');
    let percentiles = ["min", "mean", "median", "P90", "P95", "P99", "P99.9", "max"].map(Numbers);
    let mut table = TextTable::new([&[Words("milliseconds")], &percentiles[..]].concat());
    let rows: [(&str, &Latency); 3] = [
        ("NPU_compute_time", &measured.compute),
        ("H2D_latency", &measured.upload),
        ("D2H_latency", &measured.download),
    ];
    for (name, times) in rows {
        let numbers = [times.min, times.mean, times.median, times.p90, times.p95, times.p99, times.p999, times.max];
        table.row([&[name.to_owned()], &numbers.map(six)[..]].concat());
    }
    text.push_str(&table.text());
    let runs = measured.compute.count;
    let _ = match measured.median_interval_95 {
        Some((low, high)) => {
            writeln!(text, "runs      {runs}; the median is {} to {} ms with 95 % confidence", six(low), six(high))
        }
        None => writeln!(text, "runs      {runs}"),
    };
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
    if measured.by_shape.len() > 1 {
        let rows = measured.by_shape.iter().map(|shape| (&shape.inputs, &shape.compute, shape.throughput));
        let _ = write!(text, "\n{}", table_of_shapes(rows).text());
    }
}

fn verified(measured: &Measured) -> Vec<String> {
    measured.verification.as_ref().map(Verification::sentences).unwrap_or_default()
}

/// One line for each set of shapes: by throughput, the highest first, then those that failed.
fn shapes(text: &mut String, report: &Report) {
    let mut sorted: Vec<&Measured> = report.measurements.iter().collect();
    sorted.sort_by(|a, b| b.throughput.total_cmp(&a.throughput));
    if report.left_out_shapes > 0 {
        let left_out = report.left_out_shapes;
        let _ = writeln!(text, "note      {left_out} sets of shapes left out: one name of a dimension with two sizes");
    }
    let mut table =
        table_of_shapes(sorted.iter().map(|measured| (&measured.inputs, &measured.compute, measured.throughput)));
    for failed in &report.failed_shapes {
        let none = || "-".to_owned();
        table.row([failed.shapes.clone(), none(), none(), none(), none(), "failed".to_owned()]);
    }
    let _ = write!(text, "\n{}", table.text());
}

fn table_of_shapes<'a>(rows: impl Iterator<Item = (&'a Vec<InputSummary>, &'a Latency, f64)>) -> TextTable {
    let numbers = ["runs", "mean ms", "median ms", "P99 ms", "throughput"].map(Numbers);
    let mut table = TextTable::new([&[Beginnings("shapes")], &numbers[..]].concat());
    for (shapes, times, throughput) in rows {
        let [mean, median, p99] = [times.mean, times.median, times.p99].map(six);
        table.row([inputs(shapes), times.count.to_string(), mean, median, p99, format!("{throughput:.2}")]);
    }
    table
}

/// A number in six characters, if it fits.
fn six(number: f64) -> String {
    let decimals = match number.abs() {
        number if number < 9.99995 => 4,
        number if number < 99.9995 => 3,
        number if number < 999.995 => 2,
        number if number < 9999.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_six_characters_up_to_a_quarter_of_an_hour() {
        for (number, text) in [
            (0.00004, "0.0000"),
            (9.99994, "9.9999"),
            (9.99996, "10.000"),
            (99.9996, "100.00"),
            (143.0348, "143.03"),
            (999.996, "1000.0"),
            (99999.4, "99999"),
            (999999.0, "999999"),
        ] {
            assert_eq!(six(number), text);
        }
    }
}
