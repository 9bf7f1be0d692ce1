//! What is at a path: everything that opscope writes, and what can be done with it.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use opscope::files::open_regular;
use opscope::tensor::npz::Npz;
use opscope::text::{counted, grouped, shell_path, shell_word, shown_text};
use opscope_import::{is_foreign_dump, is_foreign_trace};
use serde_json::{Value, json};

use crate::terminal::shown_path;

/// Something that opscope wrote or reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    path: PathBuf,
    /// What it is, such as "the summary of a run".
    what: String,
    /// Lines that describe its content.
    holds: Vec<String>,
    /// Command lines that do something with it.
    commands: Vec<String>,
    /// Whether `opscope inspect` shows what it contains.
    pub is_shown: bool,
}

/// How many bytes of a file are read to recognise it.
const BEGINNING: u64 = 64 * 1024;

/// The largest summary that is read.
const LARGEST_SUMMARY: u64 = 256 << 20;

impl Artifact {
    /// Returns what is at a path, or `None` if opscope does not know it.
    pub fn at(path: &Path) -> Option<Self> {
        if path.is_dir() { directory(path) } else { file(path) }
    }

    /// Returns what another tool wrote and `opscope import` reads.
    pub fn foreign(path: &Path) -> Option<Self> {
        let what = match () {
            () if is_foreign_dump(path) => "a dump of another tool",
            () if is_foreign_trace(path) => "a trace of another tool",
            () => return None,
        };
        Some(Self::new(path, what, [with("import", path)]))
    }

    /// Returns as text what it is and what can be done with it, one line each.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{}: {}", shown_path(&self.path), self.what)];
        lines.extend(self.holds.iter().map(|line| format!("  {}", shown_text(line))));
        lines.extend(self.commands.iter().map(|command| format!("try: {command}")));
        lines.join("\n")
    }

    /// Returns the same as one JSON document.
    pub fn json(&self) -> serde_json::Value {
        let Self { path, what, holds, commands, .. } = self;
        json!({ "schema": "opscope.found/1", "path": path.to_string_lossy(), "what": what, "holds": holds, "commands": commands })
    }

    /// Returns what it is and the first command, as part of a sentence.
    pub fn hint(&self) -> String {
        match self.commands.first() {
            Some(command) => format!("it is {}; write: {command}", self.what),
            None => format!("it is {}", self.what),
        }
    }

    fn new(path: &Path, what: impl Into<String>, commands: impl IntoIterator<Item = String>) -> Self {
        let commands = commands.into_iter().collect();
        Self { path: path.to_owned(), what: what.into(), holds: Vec::new(), commands, is_shown: false }
    }

    /// Makes an artifact that `opscope inspect` shows.
    fn shown(path: &Path, what: &str, more: &[&str]) -> Self {
        let commands = [&["inspect"], more].concat().into_iter().map(|command| with(command, path));
        Self { is_shown: true, ..Self::new(path, what, commands) }
    }
}

/// Returns a command line of opscope with a path.
fn with(command: &str, path: &Path) -> String {
    format!("opscope {command} {}", shell_path(path))
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the directory of a file; `.` if the path has none.
fn around(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn directory(path: &Path) -> Option<Artifact> {
    if path.join("records.bin").is_file() {
        return Some(Artifact::shown(path, "a recording", &["export", "report"]));
    }
    if path.join("index.jsonl").is_file() {
        return Some(Artifact::shown(path, "a dump", &["report"]));
    }
    if path.join("dispatches").is_dir() && path.join("recordings").is_dir() {
        let files = path.join("operators/**/*.parquet").to_string_lossy().replace('\'', "''");
        let duckdb = format!("duckdb -c {}", shell_word(format!("SELECT * FROM read_parquet('{files}')")));
        return Some(Artifact::new(
            path,
            "a set of Parquet tables of recordings, partitioned by date, model and host",
            [duckdb],
        ));
    }
    output_directory(path).or_else(|| outputs_of_run(path)).or_else(|| tables(path)).or_else(|| Artifact::foreign(path))
}

/// Recognises a directory of `--output`, with one run or several.
fn output_directory(path: &Path) -> Option<Artifact> {
    let below = |name: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(path.join(name)).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        found.sort();
        found
    };
    let (recordings, dumps) = (below("profiler"), below("dump"));
    let entries = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path());
    let mut summaries: Vec<PathBuf> = entries.filter(|path| name_of(path).ends_with("_summary.json")).collect();
    summaries.sort();
    let is_ours = |path: &PathBuf| path.join("records.bin").is_file() || path.join("manifest.json").is_file();
    if summaries.is_empty() && !recordings.iter().chain(&dumps).any(is_ours) {
        return None;
    }
    let runs: Vec<String> =
        summaries.iter().map(|path| name_of(path).trim_end_matches("_summary.json").to_owned()).collect();
    let count = counted(runs.len(), "run");
    let mut found = Artifact::new(path, format!("an output directory with {count}"), [with("report", path)]);
    for (what, command, paths) in
        [("summary", "inspect", &summaries), ("recording", "inspect", &recordings), ("dump", "inspect", &dumps)]
    {
        found.holds.extend(paths.iter().map(|path| format!("{what:<10} {}", path.display())));
        found.commands.extend(paths.last().map(|path| with(command, path)));
    }
    if let [.., a, b] = &summaries[..] {
        found.commands.push(format!("{} {}", with("compare", a), shell_path(b)));
    }
    Some(found)
}

/// Recognises the directory of a run's outputs, beside its summary.
fn outputs_of_run(path: &Path) -> Option<Artifact> {
    let name = path.file_name()?.to_str()?;
    let summary = around(path).join(format!("{name}_summary.json"));
    let files: Vec<PathBuf> = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    let is_npy = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "npy");
    if !summary.is_file() || files.iter().any(is_npy) {
        return None;
    }
    let what = format!("the outputs of the run {name}, {}", counted(files.len(), "file"));
    Some(Artifact::new(path, what, [with("inspect", &summary), with("report", &summary)]))
}

/// Recognises a directory of exported tables.
fn tables(path: &Path) -> Option<Artifact> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let known: Vec<Artifact> = files.iter().filter(|path| is_export(path)).filter_map(|path| file(path)).collect();
    let first = known.first()?.commands.clone();
    let mut found = Artifact::new(path, "exports of a recording or dump", first);
    found.holds = known.iter().map(|known| format!("{}: {}", name_of(&known.path), known.what)).collect();
    Some(found)
}

/// Returns whether a file has a name that `opscope export` gives.
fn is_export(path: &Path) -> bool {
    export_of(name_of(path)).is_some() || path.extension().is_some_and(|extension| extension == "parquet")
}

/// Describes a file of `opscope export` by its name, and how it is opened.
fn export_of(name: &str) -> Option<(&'static str, &'static str)> {
    let pandas = "python3 -c 'import pandas, sys; print(pandas.read_csv(sys.argv[1]))' FILE";
    Some(match name {
        "timeline.pftrace" => ("a timeline for Perfetto", "open https://ui.perfetto.dev and drop FILE there"),
        "timeline.json" => ("a timeline for Chrome and Perfetto", "open chrome://tracing and load FILE"),
        "op_summary.csv" => ("a table with a row for each execution of an operator", pandas),
        "op_statistic.csv" => ("a table with a row for each operator type", pandas),
        "api_statistic.csv" => ("a table with a row for each kind of call", pandas),
        "msprof_tx.csv" => ("a table of the marks and ranges of the user's code", pandas),
        "statistic.csv" => ("a table with the statistics of dumped tensors", pandas),
        _ => return None,
    })
}

fn file(path: &Path) -> Option<Artifact> {
    let mut start = Vec::new();
    open_regular(path).ok()?.take(BEGINNING).read_to_end(&mut start).ok()?;
    let filled = |command: &str| command.replace("FILE", &shell_path(path));
    if start.starts_with(b"OPSCREC") {
        return Some(Artifact::new(path, "the file of a buffer of records", [with("recover", path)]));
    }
    if start.starts_with(b"opsrec\0") {
        let commands = [with("inspect", around(path)), with("export", around(path))];
        return Some(Artifact::new(path, "the records of a recording", commands));
    }
    if start.starts_with(b"PAR1") {
        let command = filled("python3 -c 'import pandas, sys; print(pandas.read_parquet(sys.argv[1]))' FILE");
        return Some(Artifact::new(path, "a Parquet table", [command]));
    }
    if start.starts_with(b"\x93NUMPY") {
        return Some(Artifact::shown(path, "an array of numpy's", &[]));
    }
    if start.starts_with(b"PK") && path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz")) {
        return archive(path);
    }
    if path.extension().is_some_and(|extension| extension == "onnx") {
        return Some(Artifact::shown(path, "a model", &["benchmark"]));
    }
    if let Some((what, command)) = export_of(name_of(path)) {
        return Some(Artifact::new(path, what, [filled(command)]));
    }
    let text = String::from_utf8_lossy(&start);
    if text.starts_with("<!doctype html>") && text.contains("content=\"opscope ") {
        return Some(Artifact::new(path, "a report", [filled("xdg-open FILE")]));
    }
    if matches!(name_of(path), "index.jsonl" | "histograms.jsonl") && around(path).join("manifest.json").is_file() {
        return Some(Artifact::new(path, "a part of a dump", [with("inspect", around(path))]));
    }
    document(path, &text).or_else(|| Artifact::foreign(path))
}

/// Recognises an archive of numpy arrays.
fn archive(path: &Path) -> Option<Artifact> {
    let archive = Npz::open(path).ok()?;
    let array = |name: &str| match archive.array(name) {
        Ok((header, _)) => format!("{name}  {} {:?}", header.dtype, header.shape),
        Err(error) => format!("{name}  cannot be read: {error}"),
    };
    let holds: Vec<String> = archive.names().map(array).collect();
    let what = format!("an archive of numpy's, {}", counted(holds.len(), "array"));
    let benchmark = format!("opscope benchmark MODEL.onnx --input {}", shell_path(path));
    Some(Artifact { holds, ..Artifact::new(path, what, [benchmark]) })
}

/// Recognises a JSON document by its schema.
fn document(path: &Path, text: &str) -> Option<Artifact> {
    let behind = text.trim_start().strip_prefix('{')?.split_once("\"schema\"")?.1;
    let schema = behind.split('"').nth(1).filter(|schema| schema.starts_with("opscope."))?;
    let part = |what: &str| Artifact::new(path, what, [with("inspect", around(path))]);
    Some(match schema.split('/').next().unwrap_or_default() {
        "opscope.summary" => {
            let mut found = Artifact::new(path, "the summary of a run", [with("report", path)]);
            found.commands.push(format!("{} OTHER_summary.json", with("compare", path)));
            if let Some(summary) = read(path) {
                let (of, inference) = described(&summary);
                found.holds = [of].into_iter().chain(inference).collect();
            }
            found
        }
        "opscope.recording" => part("the manifest of a recording"),
        "opscope.dump" => part("the manifest of a dump"),
        "opscope.names" => part("the names of a recording"),
        _ => Artifact::new(path, format!("a document {schema}, which docs/json.md describes"), []),
    })
}

/// Describes the run of a summary in two lines: the model and the engine, and the time of an inference if it is known.
pub fn described(summary: &Value) -> (String, Option<String>) {
    let at = |pointer: &str| shown_text(summary.pointer(pointer).and_then(Value::as_str).unwrap_or("?")).into_owned();
    let (model, engine, version) = (at("/model/path"), at("/engine/name"), at("/engine/version"));
    let state = if summary["complete"] == json!(false) { ", NOT complete" } else { "" };
    let times = &summary["NPU_compute_time"];
    let median = times["median"].as_f64().zip(times["count"].as_u64());
    let inference = median
        .map(|(median, count)| format!("inference  {median:.4} ms, the median of {}", counted(grouped(count), "run")));
    (format!("{model}, {engine} {version}, {}{state}", at("/engine/fidelity")), inference)
}

/// Reads a summary; `None` if it is not JSON.
pub fn read(summary: &Path) -> Option<Value> {
    serde_json::from_slice(&opscope::files::read(summary, LARGEST_SUMMARY).ok()?).ok()
}
