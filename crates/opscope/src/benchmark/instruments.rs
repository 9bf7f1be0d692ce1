//! The instruments of a job: made before the first run, closed after the last.

use std::path::{Path, PathBuf};

use opscope_debug::{Debugger, LoadedModelHandle};
use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{About, Contents, DirectorySink, Dumper, Sink};
use opscope_profile::{Account, Call, Format, ProfileError, Profiler, Recording, Subject};

use super::job::{DumpForm, Instrumentation, Job, JobError, Surroundings};
use super::place::Place;
use super::report::{DebuggerSummary, DumpSummary, ProfileSummary};
use super::stage::Stage;
use super::watch::{Capture, Watch};
use crate::Session;
use crate::verify::Verification;

/// The instruments of a job.
pub(super) struct Instruments {
    debugging: Option<Debugging>,
    captures: Captures,
}

/// What captures the runs, as it is created and finished.
enum Captures {
    None,
    Profiler(Box<Profiler>, Vec<Format>),
    Dumper(Box<Dumper>),
}

/// A debugger that outlives the job.
struct Debugging {
    debugger: Debugger,
    /// How many runs it had stopped before.
    stopped_runs: u64,
    /// Says that the model is loaded, and when this goes that it is not.
    _model: LoadedModelHandle,
}

/// What the instruments left.
#[derive(Default)]
pub(super) struct Finished {
    pub debugger: Option<DebuggerSummary>,
    pub profile: Option<ProfileSummary>,
    pub dump: Option<DumpSummary>,
    pub incomplete_because: Vec<String>,
}

impl Instruments {
    pub fn create(job: &Job, session: &Session, place: Option<&Place>) -> Result<Self, JobError> {
        let captures = Captures::create(job, session, place)?;
        let debugging = job.debugger.as_ref().map(|debugger| Debugging {
            stopped_runs: debugger.stopped_runs(),
            _model: debugger.load(session.graph(), session.model().fidelity()),
            debugger: debugger.clone(),
        });
        Ok(Self { debugging, captures })
    }

    pub fn watch(&self) -> Watch<'_> {
        let capture = match &self.captures {
            Captures::None => Capture::Nothing,
            Captures::Profiler(profiler, _) => Capture::Profiler(profiler),
            Captures::Dumper(dumper) => Capture::Dumper(dumper),
        };
        Watch { debugger: self.debugging.as_ref().map(|debugging| &debugging.debugger), capture }
    }

    pub fn check(&self, session: &Session) -> Result<(), JobError> {
        for instrument in self.watch().instruments() {
            let missing = instrument.requires().missing_in(session.engine().capabilities());
            if !missing.is_empty() {
                return Err(JobError::Capability {
                    instrument: instrument.name().to_owned(),
                    engine: session.engine().name().to_owned(),
                    missing: missing.join(", "),
                });
            }
        }
        Ok(())
    }

    /// Notes in a recording what the plan is.
    pub fn note(&self, verification: Option<&Verification>, notes: &[String]) {
        if let Captures::Profiler(profiler, _) = &self.captures {
            let sentences = verification.map(Verification::sentences).unwrap_or_default();
            sentences.iter().chain(notes).for_each(|note| profiler.note(note));
        }
    }

    /// Closes what was captured and gives it its name. What the runs fell short of stands in its manifest.
    pub fn finish(
        self,
        place: Option<Place>,
        shortfalls: &[String],
        surroundings: &Surroundings<'_>,
    ) -> Result<Finished, JobError> {
        let debugger = self.debugging.map(|debugging| DebuggerSummary {
            stopped_runs: debugging.debugger.stopped_runs() - debugging.stopped_runs,
        });
        let finished = match place {
            None => Finished::default(),
            Some(place) => self.captures.finish(place, shortfalls, surroundings)?,
        };
        Ok(Finished { debugger, ..finished })
    }
}

impl Captures {
    fn create(job: &Job, session: &Session, place: Option<&Place>) -> Result<Self, JobError> {
        let directory = place.map_or(Path::new("."), Place::partial);
        let engine = session.engine();
        match &job.instrumentation {
            Instrumentation::None => Ok(Self::None),
            Instrumentation::Profiler { options, exports, .. } => {
                let subject = Subject {
                    graph: session.graph().clone(),
                    engine: engine.name().to_owned(),
                    engine_version: engine.version().to_owned(),
                    fidelity: session.model().fidelity(),
                    engine_threads: session.threads().get(),
                    concurrent_runs: job.repetition.concurrent.get(),
                };
                let profiler = Profiler::create(directory, &subject, options)?;
                let (start, end) = session.loading();
                profiler.called(Call::Load, None, start, end);
                Ok(Self::Profiler(Box::new(profiler), exports.clone()))
            }
            Instrumentation::Dump { request, form, .. } => {
                let fidelity = session.model().fidelity();
                let about = About::new(session.graph(), fidelity, engine.name(), engine.version());
                let sink: Box<dyn Sink> = match form {
                    DumpForm::Npy => Box::new(DirectorySink::create(directory, Contents::Tensors, &about)?),
                    DumpForm::Statistics => Box::new(DirectorySink::create(directory, Contents::Statistics, &about)?),
                    DumpForm::Ascend => Box::new(AscendSink::new(DirectoryTarget::create(directory, &about)?, CHUNK)),
                };
                let dumper = Dumper::new();
                dumper.subscribe(sink, (**request).clone())?;
                Ok(Self::Dumper(Box::new(dumper)))
            }
        }
    }

    fn finish(
        self,
        place: Place,
        shortfalls: &[String],
        surroundings: &Surroundings<'_>,
    ) -> Result<Finished, JobError> {
        place.keep();
        let mut finished = Finished::default();
        match self {
            Self::None => {}
            Self::Profiler(profiler, exports) => {
                shortfalls.iter().for_each(|reason| profiler.set_incomplete(reason));
                // What was measured is reported, whatever became of the recording.
                match profiler.finish() {
                    Ok(manifest) => finished.incomplete_because = manifest.incomplete_because,
                    Err(error) => finished.fall_short(format!("the recording could not be closed: {error}")),
                }
                let mut written = Vec::new();
                let mut account = None;
                if !exports.is_empty() {
                    (surroundings.stage)(Stage::Exporting);
                    match finished.export(place.partial(), exports) {
                        Ok((files, found)) => (written, account) = (files, Some(found)),
                        Err(error) => finished.fall_short(format!("the recording could not be exported: {error}")),
                    }
                }
                let directory = finished.commit(place);
                let exports = written.iter().filter_map(|file| Some(directory.join(file.file_name()?))).collect();
                finished.profile = Some(ProfileSummary { directory, exports, account });
            }
            Self::Dumper(dumper) => {
                shortfalls.iter().for_each(|reason| dumper.set_incomplete(reason));
                let report = dumper.finish();
                let directory = finished.commit(place);
                let subscriptions = report.map(|report| report.subscriptions).unwrap_or_else(|error| {
                    finished.fall_short(format!("the dump could not be closed: {error}"));
                    Vec::new()
                });
                for subscription in &subscriptions {
                    finished.incomplete_because.extend(subscription.errors.iter().cloned());
                    let missing = subscription.losses.count();
                    if missing > 0 {
                        finished.fall_short(format!("{missing} tensors are missing from the dump"));
                    }
                    finished.dump = Some(DumpSummary {
                        directory: directory.clone(),
                        tensors: subscription.delivered.tensors,
                        bytes: subscription.delivered.bytes,
                        missing,
                    });
                }
            }
        }
        Ok(finished)
    }
}

impl Finished {
    fn fall_short(&mut self, reason: String) {
        self.incomplete_because.push(reason);
    }

    /// Writes the exports of a recording, and says where its time went. A format that cannot be written is named, and the
    /// others are written nevertheless.
    fn export(&mut self, recording: &Path, formats: Vec<Format>) -> Result<(Vec<PathBuf>, Account), ProfileError> {
        let recording = Recording::open(recording)?;
        let mut written = Vec::new();
        for format in formats {
            match recording.export(format, recording.directory()) {
                Ok(exported) => written.extend(exported.written),
                Err(error) => self.fall_short(error.to_string()),
            }
        }
        Ok((written, recording.account()?))
    }

    /// Gives data its name, and says where it is then.
    fn commit(&mut self, place: Place) -> PathBuf {
        let partial = place.partial().to_owned();
        place.commit().unwrap_or_else(|error| {
            self.fall_short(format!("it stays in {partial:?}: {error}"));
            partial
        })
    }
}

/// The bytes of a chunk of AscendCL's dump files, as the vendor cuts them.
const CHUNK: usize = 128 << 20;
