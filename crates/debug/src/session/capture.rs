use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_sys::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::host::Host;

/// A dump or a recording that a program of sessions makes of the next run of one of them, beside it. It is what a client
/// wants with the request `instrument`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// What is made.
    pub capture: CaptureKind,
    /// The directory that is made, by its absolute path. It does not exist.
    pub directory: PathBuf,
    /// The file into which the program writes a [`CaptureNote`] when it is done, by its absolute path.
    pub note: PathBuf,
}

/// What is made of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureKind {
    /// A dump of every operator's tensors.
    Dump,
    /// A recording of some runs.
    Profile,
    /// Nothing: what was asked for with the same note is not wanted any more, if it has not begun.
    Nothing,
}

/// What became of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureNote {
    /// The model of the session, as the program names it.
    pub model: String,
    /// Why there is no capture, or not all of it.
    pub error: Option<String>,
}

/// What clients have asked for and no session has begun, in the order in which it came. A program of sessions has this as
/// its host.
#[derive(Debug, Default)]
pub struct Captures {
    waiting: Mutex<Vec<Capture>>,
    /// Whether there are any. Each run of the program looks here.
    is_any: AtomicBool,
}

impl Captures {
    /// Returns whether any waits for a session.
    pub fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Takes the oldest one, for a session that begins it.
    pub fn take(&self) -> Option<Capture> {
        let mut waiting = self.waiting.lock();
        let taken = (!waiting.is_empty()).then(|| waiting.remove(0));
        self.is_any.store(!waiting.is_empty(), Ordering::Relaxed);
        taken
    }
}

impl Host for Captures {
    fn attached(&self, _is_attached: bool) {}

    fn instrument(&self, wanted: &Value) -> bool {
        let Ok(wanted) = serde_json::from_value::<Capture>(wanted.clone()) else { return false };
        let mut waiting = self.waiting.lock();
        match wanted.capture {
            CaptureKind::Nothing => waiting.retain(|other| other.note != wanted.note),
            CaptureKind::Dump | CaptureKind::Profile => waiting.push(wanted),
        }
        self.is_any.store(!waiting.is_empty(), Ordering::Relaxed);
        true
    }
}
