use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use opscope::{Inference, Session};
use opscope_clock::{Calibration, ClockPair, Ticks};
use opscope_files::{replace_whole, write_whole};
use opscope_model::{Instrument, RunId, RunInfo};
use opscope_profile::{Account, Load, Profiler, ProfilerOptions, Recording, RunKind};

use super::measurements::Measurements;
use crate::benchmark::JobError;
use crate::benchmark::instruments::Instruments;
use crate::benchmark::job::{CaptureSpec, Job, JobHooks, Stage};
use crate::benchmark::measure::MeasureError;
use crate::benchmark::output::{OutputPath, OutputPathError, RunPaths};
use crate::benchmark::report::{ModelSummary, Report};
use crate::inputs::Inputs;
use crate::machine::Machine;
use crate::roofline::{self, Unmeasured};

/// Why a run does not replace the existing one.
#[derive(Debug, thiserror::Error)]
enum NotReplaced {
    /// The run failed, or was ended early.
    #[error("the run that it should replace stays as it was")]
    Incomplete,
    /// The existing one has files that no run wrote.
    #[error(transparent)]
    Existing(OutputPathError),
}

/// Closes the captured data, gives all files their final names, and writes the summary.
///
/// # Errors
/// Returns an error if no run was measured, or a run failed. What was captured until then is kept.
pub(super) fn close(
    job: &Job,
    session: &Session,
    mut paths: RunPaths,
    instruments: Instruments,
    mut measurements: Measurements,
    load: Load,
    hooks: &JobHooks<'_>,
) -> Result<Report, JobError> {
    (hooks.stage)(Stage::Closing);
    if measurements.runs == 0 {
        // No run began, so there is nothing to keep. The paths remove themselves, after the instruments that write to
        // them are dropped.
        drop(instruments);
        drop(paths);
        return Err(match measurements.failure {
            Some(source) => JobError::Measure { source, kept: None },
            None => JobError::NoRuns { kept: None },
        });
    }
    let failure = measurements.failure.as_ref().map(ToString::to_string);
    // A run that failed or was ended early does not replace a complete run, nor files that were put there in the
    // meantime.
    let is_whole = failure.is_none() && measurements.incomplete_because.is_empty() && !measurements.measured.is_empty();
    let replaced = paths.replaces.then(|| match is_whole {
        false => Err(NotReplaced::Incomplete),
        true => RunPaths::replaceable(job).map_err(NotReplaced::Existing),
    });
    if let Some(Err(_)) = replaced {
        paths.outputs.iter_mut().chain(&mut paths.captured).for_each(OutputPath::leave_existing);
    }
    let shortfalls: Vec<String> = measurements.incomplete_because.iter().cloned().chain(failure).collect();
    let finished = instruments.finish(job, paths.captured, &shortfalls, hooks);
    measurements
        .incomplete_because
        .extend(finished.incomplete_because.into_iter().filter(|reason| !shortfalls.contains(reason)));
    for name in &measurements.formless {
        measurements.incomplete_because.push(format!("output '{name}' has no form as a file and was not written"));
    }
    let outputs = without_cut_files(paths.outputs, &mut measurements);
    let kept = finished.profile.as_ref().map(|profile| &profile.directory);
    let kept = kept.or(finished.dump.as_ref().map(|dump| &dump.directory)).map(|path| Box::from(path.as_path()));
    if let Some(source) = measurements.failure {
        return Err(JobError::Measure { source, kept });
    }
    let first = measurements.measured.first().cloned().ok_or(JobError::NoRuns { kept })?;
    let (start, end) = session.loading();
    let clock = Calibration::since(ClockPair::now());
    let mut report = Report {
        schema: "opscope.summary/1",
        run: paths.run_name.display().to_string(),
        opscope: env!("CARGO_PKG_VERSION"),
        args: job.arguments.clone(),
        pid: std::process::id(),
        start_unix_ns: unix_ns(&clock, start),
        model: model_summary(job, session),
        engine: session.engine_info(job.repetition.concurrent.get()),
        machine: Machine::this(),
        load,
        load_ms: clock.nanos(start, end) / 1e6,
        peak_memory_bytes: measurements.peak_memory,
        complete: measurements.incomplete_because.is_empty(),
        incomplete_because: measurements.incomplete_because,
        dym_shape_range: (job.shapes.len() > 1).then(|| measurements.measured.clone()),
        failed_shapes: measurements.failed,
        left_out_shapes: measurements.left_out,
        measurements: measurements.measured,
        first: Some(first),
        profile: finished.profile,
        beside: measurements.beside,
        dump: finished.dump,
        debugger: finished.debugger,
        outputs: None,
        summary: None,
    };
    if let Some(Err(reason)) = &replaced {
        let partial = outputs.map(|path| {
            path.keep();
            format!("; the outputs of this one are in {:?}, and it has no summary", path.partial())
        });
        report.fall_short(format!("{reason}{}", partial.unwrap_or_default()));
        return Ok(report);
    }
    if let Some(path) = outputs {
        let partial = path.partial().to_owned();
        match path.commit() {
            Ok(path) => report.outputs = Some(path),
            Err(error) => report.fall_short(format!("the outputs stay in {partial:?}: {error}")),
        }
    }
    if let Some(path) = paths.summary {
        // The caller gets the report even if its file cannot be written.
        let written = if replaced.is_some() { replace_summary(&report, &path) } else { write_summary(&report, &path) };
        match written {
            Ok(()) => report.summary = Some(path),
            Err(error) => report.fall_short(format!("the summary was not written: {error}")),
        }
    }
    if let Some(Ok(old)) = replaced {
        RunPaths::remove_replaced(&old, job);
    }
    Ok(report)
}

/// Returns the path of the outputs if all of them were written. If writing failed, files may be truncated. Then they
/// keep their partial name, and the job reports this instead of failing.
fn without_cut_files(outputs: Option<OutputPath>, measurements: &mut Measurements) -> Option<OutputPath> {
    let Some(MeasureError::Write(error)) = &measurements.failure else { return outputs };
    let mut reason = format!("the outputs could not be written: {error}");
    if let Some(path) = outputs {
        path.keep();
        reason.push_str(&format!("; some are in {:?}", path.partial()));
    }
    measurements.incomplete_because.push(reason);
    measurements.failure = None;
    None
}

/// Returns a moment of the past in nanoseconds since 1970.
fn unix_ns(clock: &Calibration, moment: Ticks) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let since = clock.nanos(moment, Ticks::now()).max(0.0) as u64;
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(since)
}

fn model_summary(job: &Job, session: &Session) -> ModelSummary {
    let graph = session.graph();
    ModelSummary {
        path: job.model.clone(),
        bytes: graph.source.bytes.len() as u64,
        xxh3: graph.source.xxh3,
        graph: graph.name.clone(),
        operators: graph.operators.len(),
    }
}

/// Replaces the summary with another one, in one step.
fn replace_summary(report: &Report, path: &Path) -> Result<(), OutputPathError> {
    let text = serde_json::to_vec_pretty(report).map_err(io::Error::other);
    let written = text.and_then(|mut text| {
        text.push(b'\n');
        replace_whole(path, &text)
    });
    written.map_err(OutputPathError::io(path))
}

pub(super) fn write_summary(report: &Report, path: &Path) -> Result<(), OutputPathError> {
    let written = write_whole(path, |file| {
        // The file has a line for each run.
        let mut file = BufWriter::with_capacity(1 << 20, file);
        serde_json::to_writer_pretty(&mut file, report)?;
        file.write_all(b"\n")?;
        file.flush()
    });
    written.map_err(OutputPathError::io(path))
}

/// The most runs with the profiler.
const MOST_RUNS: u64 = 50;

/// The most time for these runs.
const MOST_TIME: Duration = Duration::from_millis(200);

/// The longest run that is repeated only to be profiled, in milliseconds.
const LONGEST_RUN: f64 = 1_000.0;

impl Job {
    /// Runs the model a few more times with a profiler, to see what its operators take. This does not disturb the
    /// measured runs, which are over. The recording is in a temporary directory and is not kept. The first of these
    /// runs does not count.
    ///
    /// `median` is the median time of the measured runs in milliseconds. Returns `None` if the job does not request
    /// this, if the median is too long, if an instrument or a consumer observes the runs and would also see these, or
    /// if a step fails. The benchmark is complete without it.
    pub(super) fn profile_beside(
        &self,
        session: &Session,
        inputs: &Inputs,
        median: Option<f64>,
        first_run: u64,
        hooks: &JobHooks<'_>,
    ) -> Option<Account> {
        let is_watched = !matches!(self.capture, CaptureSpec::Nothing) || self.debugger.is_some();
        if !self.profile_beside || is_watched || session.feeds_consumers() || median? > LONGEST_RUN {
            return None;
        }
        let place = tempfile::tempdir().ok()?;
        let directory = place.path().join("recording");
        let profiler = Profiler::create(&directory, &session.recording_info(1), &ProfilerOptions::default()).ok()?;
        session.check(&profiler).ok()?;
        let mut began = Instant::now();
        for run in 0..=MOST_RUNS {
            if hooks.cancel.load(Ordering::Relaxed) || (run > 1 && began.elapsed() > MOST_TIME) {
                break;
            }
            profiler.set_run_kind(if run == 0 { RunKind::WarmUp } else { RunKind::Measured });
            run_profiled(session, inputs, RunId(first_run + run), &profiler)?;
            if run == 0 {
                began = Instant::now();
            }
        }
        profiler.finish().ok()?;
        let recording = Recording::open(&directory).ok()?;
        let mut account = recording.account().ok().filter(|account| account.runs.measured > 0)?;
        let caches = self.verify.cache_directory.as_deref();
        if let Ok(Some(machine)) = roofline::of_recording(recording.manifest(), caches, Unmeasured::Skip) {
            account.compare_with(machine);
        }
        Some(account)
    }
}

fn run_profiled(session: &Session, inputs: &Inputs, id: RunId, profiler: &Profiler) -> Option<()> {
    let batch = inputs.batch(session.graph(), 0).ok()?;
    let plan = session.model().plan(&batch.tensors).ok()?;
    let (graph, fidelity) = (session.graph(), session.model().fidelity());
    let info = RunInfo { id, graph, kernels: plan.kernels(), fidelity };
    let observe = || session.observed_by(&info, [profiler.observe(&info)]);
    Inference::run(&*plan, id, &batch.tensors, observe).ok().map(|_| ())
}
