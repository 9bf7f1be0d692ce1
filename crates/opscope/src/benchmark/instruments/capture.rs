use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use opscope_dump::{Delivery, DumpError, DumpInfo, Dumper, InputEntry, Request};
use opscope_model::{Instrument, Model, Plan, RunId, RunInfo, RunObserver};
use opscope_profile::{Account, Call, Format, Load, ProfileError, Profiler, ProfilerOptions, Recording, RunKind};

use super::interruptible::Interruptible;
use super::{Finished, InstrumentError};
use crate::Session;
use crate::benchmark::job::{CaptureSpec, Job, JobHooks, Stage};
use crate::benchmark::output::OutputPath;
use crate::benchmark::report::{DumpSummary, ProfileSummary};
use crate::roofline::{self, Unmeasured};
use crate::verify::Verification;

/// What captures the runs: a [`CaptureSpec`] at work.
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
                finished.finish_dump(&dumper, path);
            }
        }
        finished
    }
}

impl Finished {
    /// Closes a recording. What was measured is reported also where that fails.
    fn finish_profile(&mut self, profiler: Profiler, job: &Job, path: OutputPath, hooks: &JobHooks<'_>) {
        match profiler.finish() {
            Ok(manifest) => self.incomplete_because = manifest.incomplete_because,
            Err(error) => self.fall_short(format!("the recording could not be closed: {error}")),
        }
        let (mut written, mut account) = (Vec::new(), None);
        if let CaptureSpec::Profile { exports, .. } = &job.capture
            && !exports.is_empty()
        {
            (hooks.stage)(Stage::Exporting);
            match self.export(path.partial(), exports, job.verify.cache_directory.as_deref()) {
                Ok((files, found)) => (written, account) = (files, Some(found)),
                Err(error) => self.fall_short(format!("the recording could not be exported: {error}")),
            }
        }
        let directory = self.commit(path);
        let exports = written.iter().filter_map(|file| Some(directory.join(file.file_name()?))).collect();
        self.profile = Some(ProfileSummary { directory, exports, account });
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
                self.fall_short(format!("{missing} tensors are missing from the dump"));
            }
            self.dump = Some(DumpSummary {
                directory: directory.clone(),
                tensors: subscription.delivered.tensors,
                bytes: subscription.delivered.bytes,
                missing,
            });
        }
    }

    /// Writes the exports of a recording, and returns their paths and where the recording's time went. A format that cannot
    /// be written is named, and the others are written nevertheless.
    ///
    /// Operators are compared with what the machine reaches only where that was measured before: measuring would add a second.
    fn export(
        &mut self,
        recording: &Path,
        formats: &[Format],
        caches: Option<&Path>,
    ) -> Result<(Vec<PathBuf>, Account), ProfileError> {
        let recording = Recording::open(recording)?;
        let mut written = Vec::new();
        for &format in formats {
            match recording.export(format, recording.directory()) {
                Ok(exported) => written.extend(exported.written),
                Err(error) => self.fall_short(error.to_string()),
            }
        }
        let mut account = recording.account()?;
        if let Ok(Some(machine)) = roofline::of_recording(recording.manifest(), caches, Unmeasured::Skip) {
            account.compare_with(machine);
        }
        Ok((written, account))
    }

    /// Gives captured data its name, and returns where it then is.
    fn commit(&mut self, path: OutputPath) -> PathBuf {
        let partial = path.partial().to_owned();
        path.commit().unwrap_or_else(|error| {
            self.fall_short(format!("it stays in {partial:?}: {error}"));
            partial
        })
    }
}
