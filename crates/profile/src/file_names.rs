use crate::export::Format;
use crate::recording::{BUFFER, MANIFEST, NAMES, RECORDS};

/// Returns whether opscope writes a file of this name into the directory of a recording, so that whoever removes the
/// recording removes nothing else: its own files, those of exports, and tables.
pub fn is_written_name(name: &str) -> bool {
    [RECORDS, BUFFER, NAMES, MANIFEST].contains(&name) || Format::is_written(name) || name.ends_with(".parquet")
}
