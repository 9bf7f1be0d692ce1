//! Dumps: a reader per format, and what writes them as dumps of our own.
//!
//! # Rooms
//!
//! | room | what |
//! |---|---|
//! | `write` | what was found becomes a dump of our own |
//! | `formats` | which format a path has, and what its tensors are called |
//! | `files` | a reader for each kind of file with tensors |
//! | `data` | elements, piece by piece |
//! | `found` | a tensor that was found, and where its elements are |

mod data;
mod files;
mod formats;
mod found;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::ImportError;

/// Takes the size of each tensor when it is written.
pub type DumpProgress = Arc<dyn Fn(u64) + Send + Sync>;

/// How a dump is imported.
#[derive(Clone, Default)]
pub struct DumpOptions {
    /// Set by another thread to cancel the import.
    pub cancel: Arc<AtomicBool>,
    /// Called with the bytes of each tensor that was written.
    pub progress: Option<DumpProgress>,
}

impl fmt::Debug for DumpOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DumpOptions").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl DumpOptions {
    fn report(&self, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress(bytes);
        }
    }
}

/// What became of the dump of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedDump {
    /// The name of the format that was found.
    pub format: &'static str,
    /// How many tensors were imported.
    pub tensors: u64,
    /// The bytes of their elements.
    pub bytes: u64,
    /// How many of them have only statistics.
    pub statistics_only: u64,
    /// What could not be imported and why, in sentences. The manifest of the dump names all of it, this list the first.
    pub missing: Vec<String>,
    /// Whether all that the other tool wrote was imported.
    pub complete: bool,
    /// The dumps that were written: one, or one for each rank.
    pub directories: Vec<PathBuf>,
}

/// Returns whether a path looks like a dump of another tool, by its content. Reads only the beginnings of files.
pub fn is_foreign_dump(source: &Path) -> bool {
    formats::Format::of(source).is_some_and(|format| format != formats::Format::Npy)
}

/// Reads a dump of another tool, and writes it to `directory`, which must not exist. The dumps of several ranks are
/// `rank-0`, `rank-1`, ... in it.
///
/// # Errors
/// Returns an error if the source is no dump of a known format, the directory exists or cannot be written, or the import
/// was cancelled. What is damaged is no error: the dump then is not complete, and says what is missing.
pub fn import_dump(source: &Path, directory: &Path, options: &DumpOptions) -> Result<ImportedDump, ImportError> {
    source.symlink_metadata().map_err(ImportError::io("read", source))?;
    let format = formats::Format::of(source).ok_or_else(|| {
        let formats = formats::Format::ALL.map(formats::Format::name).join(", ");
        ImportError::unknown(source, format!("this is no dump of a known tool; known are {formats}"))
    })?;
    let ranks = formats::read(format, source)?;
    let mut result = ImportedDump {
        format: format.name(),
        tensors: 0,
        bytes: 0,
        statistics_only: 0,
        missing: Vec::new(),
        complete: true,
        directories: Vec::new(),
    };
    let is_single = ranks.len() == 1;
    if !is_single {
        std::fs::create_dir(directory).map_err(ImportError::io("make", directory))?;
    }
    for (place, rank) in ranks.into_iter().enumerate() {
        let number = rank.number.unwrap_or(place as u64);
        let below = directory.join(format!("rank-{number}"));
        write::write(source, rank, if is_single { directory } else { &below }, options, &mut result)?;
    }
    Ok(result)
}
