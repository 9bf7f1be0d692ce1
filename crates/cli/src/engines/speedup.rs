//! How much faster ONNX Runtime would be than the embedded engine. Another process measures that, once per model.
//!
//! The engine that runs a model which the embedded engine refuses.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use opscope::engine::{EngineName, EngineSpec, Library, LibraryError};
use opscope::files::open_regular;
use opscope::local_time;
use opscope::model::EngineError;
use opscope::onnx::Graph;
use opscope::text::shown_time;
use opscope_files::replace_whole;
use opscope_job::benchmark::{CaptureSpec, Job, Report};
use serde_json::{Value, json};

use super::question::{ask, ask_within};
use crate::exit::Failure;

/// How long the other process may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// If a run takes longer than this, in milliseconds, another engine cannot repeat it often enough in that time.
const LONGEST_RUN: f64 = 300.0;
/// A result is printed if the factor is above this.
const WORTH_A_LINE: f64 = 1.5;

const SCHEMA: &str = "opscope.faster/1";
/// More bytes than a result has.
const LONGEST: u64 = 1 << 16;

/// Returns a sentence if ONNX Runtime is found and is faster with the same inputs. `inputs` are the options that gave
/// the job its inputs. Also returns `None` if it is not known which one is faster: results are stored beside those of
/// verifications, and nothing is measured if they cannot be stored.
pub fn faster(report: &Report, job: &Job, inputs: &[String]) -> Option<String> {
    let [measured] = &report.measurements[..] else { return None };
    let ours = measured.compute.median;
    let is_plain = job.engine.name == EngineName::Tract
        && matches!(job.capture, CaptureSpec::Nothing)
        && job.debugger.is_none()
        && report.complete
        && report.dym_shape_range.is_none()
        && measured.by_shape.len() <= 1
        && job.repetition.concurrent.get() == 1;
    if !is_plain || ours > LONGEST_RUN {
        return None;
    }
    let library = Library::locate(None).ok()?;
    let kept = StoredResult::of(report, job, &library)?;
    let answer = kept.read().unwrap_or_else(|| {
        let answer = asked(job, inputs);
        kept.write(&answer);
        answer
    });
    let theirs = answer["median_ns"].as_f64().filter(|nanos| *nanos > 0.0)?;
    let times = ours * 1e6 / theirs;
    let version = answer["version"].as_str()?;
    (times > WORTH_A_LINE).then(|| {
        let time = shown_time(theirs);
        format!("ONNX Runtime {version}: {time} for a run, {times:.1} times as fast; --engine onnxruntime")
    })
}

/// Returns the version and the median of the other engine; both are null if it does not run the model in time.
fn asked(job: &Job, inputs: &[String]) -> Value {
    let options = [
        "attempt".to_owned(),
        "--engine=onnxruntime".to_owned(),
        "--timed".to_owned(),
        format!("--engine-threads={}", job.engine_threads),
        format!("--parent={}", std::process::id()),
    ];
    let words = options.into_iter().chain(inputs.iter().cloned()).chain(["--".to_owned()]).map(OsString::from);
    let answer = ask_within(words.chain([job.model.as_os_str().to_owned()]), PATIENCE).unwrap_or_default();
    let (version, nanos) = answer.trim().split_once('\n').unwrap_or_default();
    match nanos.trim().parse::<f64>() {
        Ok(nanos) => json!({ "version": version, "median_ns": nanos }),
        Err(_) => json!({ "version": null, "median_ns": null }),
    }
}

/// Where a result is stored, and what it depends on.
struct StoredResult {
    path: PathBuf,
    key: String,
}

impl StoredResult {
    fn of(report: &Report, job: &Job, library: &Path) -> Option<Self> {
        let directory = job.verify.cache_directory.as_ref()?;
        let facts = library.metadata().ok()?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        let inputs = report.measurements.first()?.inputs.iter();
        let shapes: Vec<String> = inputs.map(|input| format!("{} {:?}", input.dtype, input.shape)).collect();
        let key = format!(
            "{}; {}, {} bytes, {changed}; opscope {}; {}; {} threads; {}",
            report.model.xxh3,
            library.display(),
            facts.len(),
            report.opscope,
            report.machine.cpu,
            job.engine_threads,
            shapes.join(", ")
        );
        Some(Self { path: directory.join(format!("{}-faster.json", report.model.xxh3)), key })
    }

    fn read(&self) -> Option<Value> {
        let mut text = Vec::new();
        open_regular(&self.path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
        let found: Value = serde_json::from_slice(&text).ok()?;
        let is_ours = found["schema"] == SCHEMA && found["key"] == self.key.as_str();
        // A machine that was busy with other work may have more time another day.
        let is_known = !found["median_ns"].is_null() || found["measured"] == today();
        (is_ours && is_known).then_some(found)
    }

    /// Stores a result. If that fails, the next benchmark measures again.
    fn write(&self, answer: &Value) {
        let document = json!({
            "schema": SCHEMA,
            "key": self.key,
            "measured": today(),
            "version": answer["version"],
            "median_ns": answer["median_ns"],
        });
        let made = self.path.parent().map(|parent| fs::DirBuilder::new().recursive(true).mode(0o700).create(parent));
        if matches!(made, Some(Ok(()))) {
            let _ = replace_whole(&self.path, format!("{document:#}\n").as_bytes());
        }
    }
}

fn today() -> String {
    local_time().format("%Y-%m-%d").to_string()
}

/// If the embedded engine refused the model, adds to the failure which engine would run it. `inputs` are the options
/// that gave the model its inputs.
pub fn with_hint(
    failure: Failure,
    error: Option<&EngineError>,
    engine: &EngineSpec,
    model: &Path,
    inputs: &[String],
) -> Failure {
    let Some(error) = error.filter(|_| engine.name == EngineName::Tract) else { return failure };
    match error {
        EngineError::UnsupportedOperator { .. } | EngineError::Load { .. } | EngineError::Panic { .. } => {}
        _ => return failure,
    }
    match Library::locate(None) {
        Ok(_) => match runs(model, inputs) {
            Some(version) => failure.with_hint(format!("ONNX Runtime {version} runs it: --engine onnxruntime")),
            None => failure,
        },
        Err(LibraryError::NotFound { .. })
            if matches!(error, EngineError::UnsupportedOperator { .. }) && has_only_onnx_operators(model) =>
        {
            failure.with_hint("ONNX Runtime may run it: `pip install onnxruntime`, then --engine onnxruntime")
        }
        _ => failure,
    }
}

/// Returns the version of ONNX Runtime if that runs the model.
pub fn runs(model: &Path, inputs: &[String]) -> Option<String> {
    let words = ["attempt".to_owned(), "--engine=onnxruntime".to_owned(), format!("--parent={}", std::process::id())];
    let words = words.into_iter().chain(inputs.iter().cloned()).chain(["--".to_owned()]).map(OsString::from);
    ask(words.chain([model.into()])).ok().map(|version| version.trim().to_owned())
}

fn has_only_onnx_operators(model: &Path) -> bool {
    let is_onnx = |graph: Graph| {
        let operators = graph.operators.iter().chain(&graph.inner_operators);
        operators.into_iter().all(|operator| operator.domain.is_empty())
    };
    Graph::load(model).is_ok_and(is_onnx)
}
