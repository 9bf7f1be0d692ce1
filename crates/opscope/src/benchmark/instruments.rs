//! The instruments of a job: made before the first run, closed after the last.

use std::path::Path;

use opscope_debug::{Debugger, LoadedModelHandle};
use opscope_dump::ascend::{AscendSink, DirectoryTarget};
use opscope_dump::{About, Contents, DirectorySink, Dumper, Sink};
use opscope_profile::{Call, Format, Profiler, Recording, Subject};

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
        mut place: Place,
        shortfalls: &[String],
        surroundings: &Surroundings<'_>,
    ) -> Result<Finished, JobError> {
        place.keep();
        let mut finished = Finished::default();
        match self {
            Self::None => {}
            Self::Profiler(profiler, exports) => {
                shortfalls.iter().for_each(|reason| profiler.set_incomplete(reason));
                let manifest = profiler.finish()?;
                finished.incomplete_because = manifest.incomplete_because.clone();
                let mut written = Vec::new();
                let mut account = None;
                if !exports.is_empty() {
                    (surroundings.stage)(Stage::Exporting);
                    let recording = Recording::open(place.partial())?;
                    for format in exports {
                        match recording.export(format, place.partial()) {
                            Ok(files) => written.extend(files),
                            Err(error) => finished.incomplete_because.push(error.to_string()),
                        }
                    }
                    account = Some(recording.account()?);
                }
                let directory = place.commit()?;
                let exports = written.iter().filter_map(|file| Some(directory.join(file.file_name()?))).collect();
                finished.profile = Some(ProfileSummary { directory, exports, account });
            }
            Self::Dumper(dumper) => {
                shortfalls.iter().for_each(|reason| dumper.set_incomplete(reason));
                let report = dumper.finish()?;
                for subscription in &report.subscriptions {
                    finished.incomplete_because.extend(subscription.errors.iter().cloned());
                    let missing = subscription.losses.count();
                    if missing > 0 {
                        finished.incomplete_because.push(format!("{missing} tensors are missing from the dump"));
                    }
                    finished.dump = Some(DumpSummary {
                        directory: place.target().to_owned(),
                        tensors: subscription.delivered.tensors,
                        bytes: subscription.delivered.bytes,
                        missing,
                    });
                }
                place.commit()?;
            }
        }
        Ok(finished)
    }
}

/// The bytes of a chunk of AscendCL's dump files, as the vendor cuts them.
const CHUNK: usize = 128 << 20;
