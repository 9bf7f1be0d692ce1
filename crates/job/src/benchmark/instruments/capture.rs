use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use opscope::Session;
use opscope_dump::{Delivery, DumpError, DumpInfo, Dumper, InputEntry, Request};
use opscope_model::{Instrument, Model, Plan, RunId, RunInfo, RunObserver};
use opscope_profile::{Call, Format, Load, ProfileError, Profiler, ProfilerOptions, Recording, RunKind, TimelineRuns};
use opscope_text::counted;

use super::{Finished, InstrumentError, Interruptible};
use crate::benchmark::job::{CaptureSpec, Job, JobHooks, Stage};
use crate::benchmark::output::OutputPath;
use crate::benchmark::report::{DumpSummary, ProfileSummary};
use crate::roofline::{self, Unmeasured};
use crate::verify::Verification;

/// The largest number of records for which an account is still computed after the user has interrupted the runs. That
/// takes a fraction of a second.
const QUICK_RECORDS: u64 = 1_000_000;

/// How long the waiting tensors of a dump are still written after the user has interrupted the runs. Container runtimes
/// kill a process ten seconds after they ask it to end.
const WRITING_AFTER_CANCEL: Duration = Duration::from_millis(1500);

/// What captures the runs: a [`CaptureSpec`] in progress.
pub(super) enum Capture {
    Nothing,
    Profile(Box<Profiler>),
    Dump(Box<Dumper>),
}

impl Capture {
    pub fn create(job: &Job, session: &Session, directory: &Path) -> Result<Self, InstrumentError> {
        match &job.capture {
            CaptureSpec::Nothing => Ok(Self::Nothing),
            CaptureSpec::Profile { options, .. } => {
                let info = session.recording_info(job.repetition.concurrent.get());
                let options = ProfilerOptions { survives_crash: job.survives_crash, ..(**options).clone() };
                let profiler = Profiler::create(directory, &info, &options)?;
                let (start, end) = session.loading();
                profiler.called(Call::Load, start, end);
                Ok(Self::Profile(Box::new(profiler)))
            }
            CaptureSpec::Dump { request, format, histograms, .. } => {
                let (engine, fidelity) = (session.engine(), session.model().fidelity());
                let info = DumpInfo::new(session.graph(), fidelity, engine.name(), engine.version());
                let sink = format.create(directory, &info, *histograms)?;
                let dumper = Dumper::new();
                let direct = job.survives_crash.then_some(Delivery::Direct);
                let delivery = request.delivery.clone().or(direct);
                dumper.subscribe(sink, Request { delivery, ..(**request).clone() })?;
                Ok(Self::Dump(Box::new(dumper)))
            }
        }
    }

    pub fn instrument(&self) -> Option<&dyn Instrument> {
        match self {
            Self::Nothing => None,
            Self::Profile(profiler) => Some(&**profiler),
            Self::Dump(dumper) => Some(&**dumper),
        }
    }

    pub fn set_run_kind(&self, kind: RunKind) {
        if let Self::Profile(profiler) = self {
            profiler.set_run_kind(kind);
        }
    }

    /// Returns whether the times of dispatches are taken.
    pub fn takes_times(&self) -> bool {
        matches!(self, Self::Profile(profiler) if profiler.takes_times())
    }

    pub fn planned(&self, model: &dyn Model, plan: &dyn Plan) -> Result<(), DumpError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Profile(profiler) => {
                let (start, end) = plan.made();
                profiler.called(Call::Plan, start, end);
                Ok(())
            }
            Self::Dump(dumper) => dumper.add_plan(model, plan),
        }
    }

    pub fn set_inputs(&self, run: RunId, inputs: impl FnOnce() -> Arc<[InputEntry]>) {
        if let Self::Dump(dumper) = self {
            dumper.set_inputs(run, inputs());
        }
    }

    pub fn observe<'a>(&'a self, run: &RunInfo<'a>, cancel: &'a AtomicBool) -> Option<Box<dyn RunObserver + 'a>> {
        match self {
            Self::Nothing => None,
            Self::Profile(profiler) => Some(profiler.observe(run)),
            Self::Dump(dumper) => Some(Box::new(Interruptible { inner: dumper.observe(run), cancel })),
        }
    }

    pub fn note(&self, verification: Option<&Verification>, notes: &[String]) {
        if let Self::Profile(profiler) = self {
            let details = verification.map(Verification::details).unwrap_or_default();
            let sentences: Vec<String> = verification.map(Verification::sentence).into_iter().chain(details).collect();
            sentences.iter().chain(notes).for_each(|note| profiler.note(note));
        }
    }

    pub fn set_load(&self, load: Load) {
        if let Self::Profile(profiler) = self {
            profiler.set_load(load);
        }
    }

    /// Returns how many bytes a run takes in a recording, or `None` until that is known.
    pub fn bytes_per_run(&self) -> Option<f64> {
        match self {
            Self::Profile(profiler) => profiler.bytes_per_run(),
            Self::Nothing | Self::Dump(_) => None,
        }
    }

    pub fn finish(self, job: &Job, path: OutputPath, shortfalls: &[String], hooks: &JobHooks<'_>) -> Finished {
        path.keep();
        let mut finished = Finished::default();
        match self {
            Self::Nothing => {}
            Self::Profile(profiler) => {
                shortfalls.iter().for_each(|reason| profiler.set_incomplete(reason));
                finished.finish_profile(*profiler, job, path, hooks);
            }
            Self::Dump(dumper) => {
                shortfalls.iter().for_each(|reason| dumper.set_incomplete(reason));
                if hooks.cancel.load(Ordering::Relaxed) {
                    dumper.give_up_at(Instant::now() + WRITING_AFTER_CANCEL);
                }
                finished.finish_dump(&dumper, path);
            }
        }
        finished
    }
}

impl Finished {
    /// Closes a recording. If that fails, the measured times are still reported.
    fn finish_profile(&mut self, profiler: Profiler, job: &Job, path: OutputPath, hooks: &JobHooks<'_>) {
        let mut summary = ProfileSummary::default();
        match profiler.finish() {
            Ok(manifest) => {
                let records = manifest.records.unwrap_or_default();
                summary.recording_bytes = records.bytes;
                summary.runs_beyond_budget = records.runs_beyond_budget;
                self.incomplete_because = manifest.incomplete_because;
                if let CaptureSpec::Profile { exports, timeline_runs, .. } = &job.capture
                    && !exports.is_empty()
                {
                    // A user who interrupts the runs waits for at most a second.
                    summary.skipped_exports = hooks.cancel.load(Ordering::Relaxed);
                    if !summary.skipped_exports || records.delivered <= QUICK_RECORDS {
                        (hooks.stage)(Stage::Exporting);
                        let caches = job.verify.cache_directory.as_deref();
                        match self.export(path.partial(), (exports, *timeline_runs), caches, hooks, &mut summary) {
                            Ok(()) => {}
                            Err(ProfileError::Cancelled) => summary.skipped_exports = true,
                            Err(error) => self.fall_short(format!("the recording could not be exported: {error}")),
                        }
                    }
                    if summary.skipped_exports && self.incomplete_because.is_empty() {
                        self.fall_short("it was interrupted before all exports were written".to_owned());
                    }
                }
            }
            Err(error) => self.fall_short(format!("the recording could not be closed: {error}")),
        }
        summary.directory = self.commit(path);
        for file in &mut summary.exports {
            *file = summary.directory.join(file.file_name().unwrap_or_default());
        }
        self.profile = Some(summary);
    }

    fn finish_dump(&mut self, dumper: &Dumper, path: OutputPath) {
        let report = dumper.finish();
        let directory = self.commit(path);
        let subscriptions = report.map(|report| report.subscriptions).unwrap_or_else(|error| {
            self.fall_short(format!("the dump could not be closed: {error}"));
            Vec::new()
        });
        for subscription in &subscriptions {
            self.incomplete_because.extend(subscription.errors.iter().cloned());
            let missing = subscription.losses.count();
            if missing > 0 {
                self.fall_short(format!("{} missing from the dump", counted(missing, "tensor")));
            }
            self.dump = Some(DumpSummary {
                directory: directory.clone(),
                tensors: subscription.delivered.tensors,
                bytes: subscription.delivered.bytes,
                missing,
            });
        }
    }

    /// Finds where a recording's time went, and writes its exports unless they are skipped.
    ///
    /// Operators are compared with what the machine reaches only if that was measured before, because measuring takes a
    /// second.
    fn export(
        &mut self,
        directory: &Path,
        exports: (&[Format], TimelineRuns),
        caches: Option<&Path>,
        hooks: &JobHooks<'_>,
        summary: &mut ProfileSummary,
    ) -> Result<(), ProfileError> {
        let mut recording = Recording::open(directory)?;
        if !summary.skipped_exports {
            recording.set_cancel(Arc::clone(hooks.cancel));
        }
        let mut account = recording.account()?;
        if let Ok(Some(machine)) = roofline::of_recording(recording.manifest(), caches, Unmeasured::Skip) {
            account.compare_with(machine);
        }
        summary.account = Some(account);
        if summary.skipped_exports { Ok(()) } else { self.write_exports(&recording, exports, summary) }
    }

    /// Writes the exports of a recording. A format that cannot be written is reported by name, and the others are still
    /// written.
    fn write_exports(
        &mut self,
        recording: &Recording,
        (formats, timeline_runs): (&[Format], TimelineRuns),
        summary: &mut ProfileSummary,
    ) -> Result<(), ProfileError> {
        let excerpt = recording.excerpt(timeline_runs)?;
        summary.shown_runs = excerpt.shown_runs();
        for &format in formats {
            match excerpt.export(format, recording.directory()) {
                Ok(exported) => summary.exports.extend(exported.written),
                Err(ProfileError::Cancelled) => return Err(ProfileError::Cancelled),
                Err(error) => self.fall_short(error.to_string()),
            }
        }
        Ok(())
    }

    /// Gives captured data its final name. Returns its path, which is the partial one if renaming failed.
    fn commit(&mut self, path: OutputPath) -> PathBuf {
        let partial = path.partial().to_owned();
        path.commit().unwrap_or_else(|error| {
            self.fall_short(format!("it stays in {partial:?}: {error}"));
            partial
        })
    }
}
