//! Dumps and recordings that a command asks for while the program runs.

use std::sync::{Arc, LazyLock};

use opscope_debug::{Capture, CaptureNote, Captures};
use opscope_files::replace_whole;

use crate::messages::say;

/// Those that no session has begun.
pub static REQUESTED: LazyLock<Arc<Captures>> = LazyLock::new(Arc::default);

/// Tells the command what became of one.
pub fn tell(capture: &Capture, note: &CaptureNote) {
    let written = serde_json::to_vec(note).map_err(Into::into).and_then(|text| replace_whole(&capture.note, &text));
    if let Err(error) = written {
        // The command may be gone, with the directory of its note.
        say(format_args!("what became of {} cannot be told: {error}", capture.directory.display()));
    }
}
