//! Dumps and recordings that a command asks for while the program runs.

use std::sync::atomic::{AtomicBool, Ordering};

use opscope_debug::{Capture, CaptureKind, CaptureNote, Host};
use opscope_files::replace_whole;
use opscope_sys::Mutex;
use serde_json::Value;

use crate::messages::say;

/// Those that no session has begun, in the order in which they came.
static WAITING: Mutex<Vec<Capture>> = Mutex::new(Vec::new());

/// Whether there are any. The program's runs look here first.
static IS_ANY: AtomicBool = AtomicBool::new(false);

/// Takes what commands ask for.
pub struct ProgramHost;

impl Host for ProgramHost {
    fn attached(&self, _is_attached: bool) {}

    fn instrument(&self, wanted: &Value) -> bool {
        let Ok(wanted) = serde_json::from_value::<Capture>(wanted.clone()) else { return false };
        let mut waiting = WAITING.lock();
        match wanted.capture {
            CaptureKind::Nothing => waiting.retain(|other| other.note != wanted.note),
            CaptureKind::Dump | CaptureKind::Profile => waiting.push(wanted),
        }
        IS_ANY.store(!waiting.is_empty(), Ordering::Relaxed);
        true
    }
}

/// Returns whether a command waits for a session.
pub fn is_any() -> bool {
    IS_ANY.load(Ordering::Relaxed)
}

/// Takes the oldest one, for a session that begins it.
pub fn take() -> Option<Capture> {
    let mut waiting = WAITING.lock();
    let taken = (!waiting.is_empty()).then(|| waiting.remove(0));
    IS_ANY.store(!waiting.is_empty(), Ordering::Relaxed);
    taken
}

/// Tells the command what became of it.
pub fn tell(capture: &Capture, note: &CaptureNote) {
    let written = serde_json::to_vec(note).map_err(Into::into).and_then(|text| replace_whole(&capture.note, &text));
    if let Err(error) = written {
        // The command may be gone, with the directory of its note.
        say(format_args!("what became of {} cannot be told: {error}", capture.directory.display()));
    }
}
