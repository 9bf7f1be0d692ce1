//! Recordings of the runs of models, if the file of `aclInit` has a profiler section. Each model has its own directory.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::{Arc, Once};
use std::time::{SystemTime, UNIX_EPOCH};

use opscope::model::{Capabilities, Instrument, RunInfo, RunObserver};
use opscope::profile::{Call, ProfileError, Profiler, ProfilerOptions};
use opscope::{Session, local_time};
use opscope_acl_json::{AclConfig, ProfilerSection};
use opscope_border::system;

use crate::border::{note, say};
use crate::forks::Shared;

/// A recording of a model. It is closed when its last user drops it, because a queued run may take place after its
/// model was unloaded.
struct Recording(Option<Profiler>);

impl Recording {
    fn profiler(&self) -> &Profiler {
        self.0.as_ref().expect("it is there until this is dropped")
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(Profiler::finish) {
            say(format_args!("a recording could not be closed: {error}"));
        }
    }
}

impl Instrument for Recording {
    fn name(&self) -> &str {
        self.profiler().name()
    }

    fn requires(&self) -> Capabilities {
        self.profiler().requires()
    }

    fn observe<'a>(&'a self, run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        self.profiler().observe(run)
    }
}

#[derive(Default)]
struct State {
    /// The profiler section of the file.
    section: Option<ProfilerSection>,
    models: BTreeMap<u32, Arc<Recording>>,
}

/// In the child of a fork, the open recordings belong to the parent, which writes them.
static RECORDINGS: Shared<State> = Shared::new(State { section: None, models: BTreeMap::new() }, || {
    RECORDINGS.held(|state| std::mem::forget(std::mem::take(&mut state.models)))
});

/// Sets whether models that are loaded from now on are recorded.
pub fn configure(config: Option<&AclConfig>) {
    RECORDINGS.lock().section = config.and_then(|config| config.profiler.clone());
}

/// Begins to record a model that was just loaded.
pub fn loaded(model_id: u32, session: &Session) {
    let Some(section) = RECORDINGS.read().section.clone() else { return };
    match create(model_id, &section, session) {
        Ok(recording) => {
            drop(RECORDINGS.lock().models.insert(model_id, Arc::new(recording)));
            close_at_exit();
        }
        Err(reason) => note(format!("EK0003: model {model_id} is not recorded: {reason}")),
    }
}

fn create(model_id: u32, section: &ProfilerSection, session: &Session) -> Result<Recording, ProfileError> {
    let directory = section.directory(Path::new(&name_of(model_id)));
    let options = section.options(&ProfilerOptions::default());
    let profiler = Profiler::create(&directory, &session.recording_info(1), &options)?;
    let (start, end) = session.loading();
    profiler.called(Call::Load, start, end);
    Ok(Recording(Some(profiler)))
}

/// Returns the instrument that records a run; `None` if the model is not recorded.
pub fn instrument(model_id: u32) -> Option<Box<dyn Instrument>> {
    let recording = RECORDINGS.read().models.get(&model_id).cloned()?;
    Some(Box::new(recording))
}

/// Closes the recording of a model that was unloaded.
pub fn unloaded(model_id: u32) {
    let ended = RECORDINGS.lock().models.remove(&model_id);
    drop(ended);
}

/// Closes all recordings, and begins no more.
pub fn finish() {
    let ended = std::mem::take(&mut *RECORDINGS.lock());
    drop(ended);
}

/// Closes the recordings when the process exits, so that they are complete even if the program does not call
/// aclFinalize.
fn close_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn close() {
        // At this point, a panic cannot be reported any more.
        let _ = catch_unwind(finish);
    }
    // If there is no memory for this, the recordings are marked as not closed.
    ONCE.call_once(|| _ = system::at_exit(close));
}

/// Returns the name of a model's recording, in the vendor's form: `PROF_<6 digits>_<17 digits of the time>_<16
/// letters>`.
fn name_of(model_id: u32) -> String {
    let time = local_time().format("%Y%m%d%H%M%S");
    let milliseconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_millis();
    format!("PROF_{model_id:06}_{time}{milliseconds:03}_{}", letters())
}

/// Returns 16 random letters.
fn letters() -> String {
    let mut random = RandomState::new().hash_one(std::process::id());
    let letter = |_| {
        let letter = b'A' + (random % 26) as u8;
        random /= 26;
        // 26^16 is more than 2^64, so the last letters need a second number.
        if random == 0 {
            random = RandomState::new().hash_one(letter);
        }
        char::from(letter)
    };
    (0..16).map(letter).collect()
}
