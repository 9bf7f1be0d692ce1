//! Dumps and recordings that a command asks for while the program runs.

use opscope_debug::{Capture, CaptureNote};
use opscope_files::replace_whole;

use crate::messages::say;

/// Tells the command what became of one.
pub fn tell(capture: &Capture, note: &CaptureNote) {
    let written = serde_json::to_vec(note).map_err(Into::into).and_then(|text| replace_whole(&capture.note, &text));
    if let Err(error) = written {
        // The command may be gone, with the directory of its note.
        say(format_args!("what became of {} cannot be told: {error}", capture.directory.display()));
    }
}
