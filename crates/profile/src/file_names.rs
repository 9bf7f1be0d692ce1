use crate::export::Format;
use crate::recording::{BUFFER, MANIFEST, NAMES, RECORDS};

/// Returns whether opscope writes a file with this name into the directory of a recording: its own files, those of
/// exports, and tables. A program that removes the recording then removes nothing else.
pub fn is_written_name(name: &str) -> bool {
    [RECORDS, BUFFER, NAMES, MANIFEST].contains(&name) || Format::is_written(name) || name.ends_with(".parquet")
}
