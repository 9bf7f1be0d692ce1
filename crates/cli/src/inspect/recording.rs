//! What a recording says about time and memory.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use opscope::profile::{Distribution, Layer, MemoryOverTime, Recording, carries_percentile};
use opscope::text::Column::{Ends, Numbers, Words};
use opscope::text::{TextTable, counted, shown_size, shown_text};
use opscope_job::roofline::{Unmeasured, of_recording};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::options::Environment;
use crate::terminal::{print, print_json, shown_path, table_width};

/// What to show of a recording beside its account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct RecordingArguments {
    /// Add a table of the layers at a depth of the paths in the operators' names: with 2, those like /encoder/layer.3
    #[arg(long, value_name = "N")]
    group_depth: Option<usize>,
    /// Add how the times of each operator are distributed: percentiles and a histogram
    #[arg(long)]
    distribution: bool,
    /// Add the memory for tensors over the time of a run, and by operator; it needs a profile with task-memory=on
    #[arg(long)]
    memory: bool,
    /// Do not compare operators with what this machine reaches, which is measured once, in about a second
    #[arg(long)]
    no_roofline: bool,
}

/// Shows a recording.
pub fn show(path: &Path, rows: usize, arguments: &RecordingArguments, as_json: bool) -> Result<Exit, Failure> {
    let recording = Recording::open(path).map_err(Failure::wrong_use)?;
    let Distribution { mut account, operators } = recording.distributions().map_err(Failure::failed)?;
    if !arguments.no_roofline && account.operators.iter().any(|row| row.work.is_some()) {
        let directory: Option<PathBuf> = std::env::vars_os().collect::<Environment>().cache_directory();
        let machine = of_recording(recording.manifest(), directory.as_deref(), Unmeasured::Measure);
        if let Some(machine) = machine.map_err(Failure::failed)? {
            account.compare_with(machine);
        }
    }
    let memory = match arguments.memory {
        true => Some(memory_of(&recording)?),
        false => None,
    };
    let layers = arguments.group_depth.map(|depth| account.layers_at(depth));
    if as_json {
        let mut document =
            json!({ "manifest": recording.manifest(), "problems": recording.problems(), "account": account });
        if let Some(layers) = layers {
            document["layers"] = json!(layers);
        }
        if let Some(memory) = memory {
            document["memory"] = json!(memory);
        }
        if arguments.distribution {
            document["histograms"] = json!(operators);
        }
        print_json(document)?;
    } else {
        let mut text = head(path, &recording) + "\n" + &account.to_text_within(rows, table_width());
        if let Some(layers) = layers {
            write_layers(&mut text, &layers, rows);
        }
        if arguments.distribution {
            write_distribution(&mut text, &Distribution { account, operators }, rows);
        }
        if let Some(memory) = memory {
            write_memory(&mut text, &memory, rows);
        }
        print(text.trim_end())?;
    }
    Ok(if recording.is_complete() { Exit::Done } else { Exit::Incomplete })
}

fn memory_of(recording: &Recording) -> Result<MemoryOverTime, Failure> {
    let memory = recording.memory_over_time().map_err(Failure::failed)?;
    memory.ok_or_else(|| {
        let why = match recording.is_complete() {
            true => "it has no records of tensors' memory; profile with --profiler-option task-memory=on",
            false => "it is incomplete",
        };
        Failure::wrong_use(format!("--memory: {}: {why}", recording.directory().display()))
    })
}

fn head(path: &Path, recording: &Recording) -> String {
    let manifest = recording.manifest();
    let (model, engine) = (&manifest.model, &manifest.engine);
    let state = if recording.is_complete() { "complete" } else { "NOT complete" };
    let mut text = String::new();
    let _ = writeln!(text, "{}: a recording, {state}", shown_path(path));
    let said = [&model.path, &engine.name, &engine.version].map(|said| shown_text(said));
    let [path, name, version] = said;
    let _ = writeln!(text, "model {path} ({}), {name} {version}, {}", model.xxh3, engine.fidelity);
    for (name, value) in &engine.settings {
        let _ = writeln!(text, "  {} {}", shown_text(name), shown_text(value));
    }
    let beyond = manifest.records.as_ref().map_or(0, |records| records.runs_beyond_budget);
    if beyond > 0 {
        let runs = counted(beyond, "run");
        let _ = writeln!(text, "it ended at its budget; what follows is without the {runs} after that");
    }
    for problem in recording.problems() {
        let _ = writeln!(text, "problem: {}", shown_text(problem));
    }
    text
}

fn first_of(rows: usize, all: usize) -> String {
    if rows < all { format!(" (the first {rows} of {all})") } else { String::new() }
}

fn write_layers(text: &mut String, layers: &[Layer], rows: usize) {
    let mut table = TextTable::new([
        Ends("layer"),
        Numbers("operators"),
        Numbers("median"),
        Numbers("share"),
        Numbers("GFLOP"),
        Numbers("GFLOP/s"),
    ]);
    for layer in layers.iter().take(rows) {
        let path = if layer.path.is_empty() { "(no path)" } else { &layer.path };
        // If an operator's cost is unknown, the sum is a lower bound.
        let least = if layer.unknown_flops > 0 { ">= " } else { "" };
        table.row([
            path.to_owned(),
            layer.operators.to_string(),
            duration(layer.median_ns),
            format!("{:.2} %", layer.percent),
            format!("{least}{:.4}", layer.flops / 1e9),
            layer.gflops_per_s.map_or("-".to_owned(), |rate| format!("{rate:.2}")),
        ]);
    }
    let _ = write!(text, "\nLayers by time{}\n{}", first_of(rows, layers.len()), table.within(table_width()).text());
}

fn write_distribution(text: &mut String, Distribution { account, operators }: &Distribution, rows: usize) {
    let mut table = TextTable::new([
        Ends("operator"),
        Numbers("P50"),
        Numbers("P90"),
        Numbers("P99"),
        Numbers("from"),
        Words("histogram"),
        Ends("to"),
    ]);
    for (row, histogram) in account.operators.iter().zip(operators).take(rows) {
        let ends = [histogram.bounds_ns.first(), histogram.bounds_ns.last()];
        let [from, to] = ends.map(|bound| bound.map_or(String::new(), |bound| duration(*bound)));
        let runs = usize::try_from(account.runs.measured).unwrap_or(usize::MAX);
        let [p50, p90, p99] = [(50.0, row.median_ns), (90.0, row.p90_ns), (99.0, row.p99_ns)].map(|(percent, time)| {
            // A median exists even for one run: it is that run.
            if percent == 50.0 || carries_percentile(runs, percent) { duration(time) } else { "-".to_owned() }
        });
        table.row([row.display_name().to_owned(), p50, p90, p99, from, bars(&histogram.counts), to]);
    }
    let count = account.operators.len();
    let _ =
        write!(text, "\nTimes of operators in a run{}\n{}", first_of(rows, count), table.within(table_width()).text());
}

/// Returns one character per count, whose height is relative to the highest count; any count above 0 gets at least the
/// lowest bar.
fn bars(counts: &[u64]) -> String {
    const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let sign = |&count: &u64| match count {
        0 => ' ',
        count => SIGNS[((u128::from(count) * SIGNS.len() as u128).div_ceil(u128::from(most)) - 1) as usize],
    };
    counts.iter().map(sign).collect()
}

fn write_memory(text: &mut String, memory: &MemoryOverTime, rows: usize) {
    let (run, peak) = (memory.run, shown_size(memory.peak_bytes));
    let _ = write!(text, "\nMemory for tensors over time: run {run} held at most {peak}\n");
    let (Some(first), Some(last)) = (memory.points.first(), memory.points.last()) else { return };
    let (from, to) = (duration(first.ns), duration(last.ns));
    let _ = writeln!(text, "{from} |{}| {to}", bars(&over_time(memory)));
    let mut table =
        TextTable::new([Ends("operator"), Numbers("allocations"), Numbers("allocated"), Numbers("held at the peak")]);
    let mut operators: Vec<_> = memory.operators.iter().collect();
    operators.sort_by_key(|operator| std::cmp::Reverse((operator.bytes_at_peak, operator.allocated_bytes)));
    for operator in operators.iter().take(rows) {
        table.row([
            operator.operator.clone().unwrap_or_else(|| "(inputs)".to_owned()),
            operator.allocations.to_string(),
            shown_size(operator.allocated_bytes),
            shown_size(operator.bytes_at_peak),
        ]);
    }
    let _ = write!(
        text,
        "\nMemory of operators{}\n{}",
        first_of(rows, operators.len()),
        table.within(table_width()).text()
    );
}

/// Returns the largest number of bytes held in each of several equal parts of the time.
fn over_time(memory: &MemoryOverTime) -> Vec<u64> {
    const PARTS: usize = 60;
    let (Some(first), Some(last)) = (memory.points.first(), memory.points.last()) else { return Vec::new() };
    let length = (last.ns - first.ns).max(f64::MIN_POSITIVE);
    let part = |ns: f64| (((ns - first.ns) / length * PARTS as f64) as usize).min(PARTS - 1);
    let mut most = vec![0; PARTS];
    for (index, point) in memory.points.iter().enumerate() {
        // The memory is held until the next point.
        let until = memory.points.get(index + 1).map_or(last.ns, |next| next.ns);
        let parts = part(point.ns)..=part(until).max(part(point.ns));
        most[parts].iter_mut().for_each(|most: &mut u64| *most = (*most).max(point.bytes));
    }
    most
}

/// Formats nanoseconds in the unit that leaves one to three digits before the point.
fn duration(nanos: f64) -> String {
    match nanos.abs() {
        size if size >= 1e9 => format!("{:.3} s", nanos / 1e9),
        size if size >= 1e6 => format!("{:.3} ms", nanos / 1e6),
        size if size >= 1e3 => format!("{:.3} µs", nanos / 1e3),
        _ => format!("{nanos:.0} ns"),
    }
}
