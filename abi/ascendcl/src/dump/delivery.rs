//! The delivery of chunks to their destinations, what was delivered, and why a chunk is lost.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use opscope::dump::ascend::{FileName, MAPPING};
use opscope::files::open_to_append;

use super::chunk::Chunk;
use super::statistics::STATISTICS;
use super::{slot, subscribers};

/// Passes chunks to callbacks, or writes them to their files.
#[derive(Default)]
pub struct Delivery {
    files: Files,
    /// The files that have begun but not ended.
    begun: HashMap<PathBuf, Destination>,
}

/// The destination of a file's chunks. It is decided at the first chunk, because the end of a file is useless without
/// its beginning.
enum Destination {
    /// The callback and the subscribers that were registered at the first chunk receive the file.
    Callbacks {
        callback: Option<u64>,
        subscribers: Option<u64>,
    },
    Disk,
    /// The file is discarded.
    Nowhere,
    /// A chunk was lost, so the rest of the file is lost, too.
    Lost,
}

impl Delivery {
    /// Delivers a chunk. `to_disk` says whether it goes to its file if there is no callback. Returns what to count and,
    /// for the first lost chunk of a file, why it was lost.
    pub fn deliver(&mut self, chunk: &Chunk, path: &Path, to_disk: bool) -> (Counts, Option<Loss>) {
        let begun = self.begun.remove(path);
        let (is_first, mut destination) = (begun.is_none(), begun.unwrap_or_else(|| Destination::now(to_disk)));
        let mut given = destination.give(chunk, path, &mut self.files);
        // If the callback was removed just now, it has received nothing of the file yet, so the destination is decided
        // again.
        while is_first && given.is_err() && matches!(destination, Destination::Callbacks { .. }) {
            destination = Destination::now(to_disk);
            given = destination.give(chunk, path, &mut self.files);
        }
        let (counts, loss) = match given {
            Ok(()) if matches!(destination, Destination::Nowhere) => (Counts::new(), None),
            Ok(()) if matches!(destination, Destination::Lost) => (Counts { lost_chunks: 1, ..Counts::new() }, None),
            Ok(()) => {
                let (files, bytes) = (chunk.is_last().into(), chunk.data().len() as u64);
                (Counts { files, chunks: 1, bytes, ..Counts::new() }, None)
            }
            Err(loss) => {
                destination = Destination::Lost;
                self.files.give_up(path);
                (Counts { incomplete_files: 1, lost_chunks: 1, ..Counts::new() }, Some(loss))
            }
        };
        if chunk.is_last() {
            subscribers::forget(path);
        } else {
            self.begun.insert(path.to_owned(), destination);
        }
        (counts, loss)
    }

    /// Notes that a file gets no more chunks, although its last chunk is missing.
    pub fn give_up(&mut self, path: &Path) -> Counts {
        self.files.give_up(path);
        subscribers::forget(path);
        let was_lost = matches!(self.begun.remove(path), Some(Destination::Lost));
        Counts { incomplete_files: (!was_lost).into(), ..Counts::new() }
    }
}

impl Destination {
    fn now(to_disk: bool) -> Self {
        match (slot::registration(), subscribers::newest()) {
            (None, None) if to_disk => Self::Disk,
            (None, None) => Self::Nowhere,
            (callback, subscribers) => Self::Callbacks { callback, subscribers },
        }
    }

    fn give(&self, chunk: &Chunk, path: &Path, files: &mut Files) -> Result<(), Loss> {
        match self {
            Self::Callbacks { callback, subscribers } => {
                let is_called = callback.is_some_and(|callback| slot::call_back(callback, chunk));
                let is_subscribed = subscribers.is_some_and(|newest| subscribers::call_back(newest, chunk, path));
                let gone = || Loss::CallbackGone(path.to_owned());
                (is_called || is_subscribed).then_some(()).ok_or_else(gone)
            }
            Self::Disk => {
                let written = files.write(path, chunk.data(), chunk.is_last());
                written.map_err(|source| Loss::Write { path: path.to_owned(), source })
            }
            Self::Nowhere | Self::Lost => Ok(()),
        }
    }
}

/// Writes dump files, chunk by chunk. A file gets its final name once it is complete.
#[derive(Default)]
pub struct Files {
    /// The files that are being written, by their final paths.
    open: HashMap<PathBuf, OpenFile>,
}

struct OpenFile {
    place: PathBuf,
    partial: PathBuf,
    file: File,
}

impl Files {
    /// Appends data to a file. The first call creates the file and its directories. `is_last` completes the file.
    pub fn write(&mut self, path: &Path, data: &[u8], is_last: bool) -> io::Result<()> {
        let mut open = self.open.remove(path).map_or_else(|| OpenFile::new(path), Ok)?;
        open.file.write_all(data)?;
        if is_last {
            drop(open.file);
            return fs::rename(open.partial, open.place);
        }
        self.open.insert(path.to_owned(), open);
        Ok(())
    }

    /// Stops writing a file. It keeps a name that marks it as incomplete.
    pub fn give_up(&mut self, path: &Path) {
        self.open.remove(path);
    }
}

impl OpenFile {
    fn new(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(directory)?;
        let full = path.file_name().unwrap_or_default().to_string_lossy();
        let name = fitting(&full, "");
        if name != full {
            let mut table = longer(&directory.join(MAPPING))?;
            writeln!(table, "{name},{full}")?;
        }
        let place = directory.join(&name);
        let partial = directory.join(fitting(&full, ".partial"));
        let file = OpenOptions::new().create_new(true).write(true).open(&partial)?;
        Ok(Self { place, partial, file })
    }
}

/// Opens a table for appending. Creates it if it does not exist.
fn longer(table: &Path) -> io::Result<File> {
    match OpenOptions::new().create_new(true).write(true).open(table) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_to_append(table),
        made => made,
    }
}

/// Returns a file's name with an ending. If that is too long for file systems, digits replace the name.
fn fitting(full: &str, ending: &str) -> String {
    let (stem, statistics) = full.strip_suffix(STATISTICS).map_or((full, ""), |stem| (stem, STATISTICS));
    let digits = |name: FileName| format!("{}{statistics}{ending}", name.digits());
    let is_long = full.len() + ending.len() > FileName::LONGEST;
    let mapped = FileName::parse(stem).filter(|_| is_long).map(digits);
    mapped.unwrap_or_else(|| format!("{full}{ending}"))
}

/// Counts of what was delivered since the library was loaded, or since the process was forked.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Files whose last chunk was delivered.
    pub files: u64,
    /// Files that were begun, but will get no last chunk.
    pub incomplete_files: u64,
    pub chunks: u64,
    /// Bytes of data in these chunks.
    pub bytes: u64,
    /// Chunks that reached neither a callback nor a file.
    pub lost_chunks: u64,
}

impl Counts {
    pub const fn new() -> Self {
        Self { files: 0, incomplete_files: 0, chunks: 0, bytes: 0, lost_chunks: 0 }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.incomplete_files += other.incomplete_files;
        self.chunks += other.chunks;
        self.bytes += other.bytes;
        self.lost_chunks += other.lost_chunks;
    }
}

/// Why a chunk does not reach its destination.
#[derive(Debug, thiserror::Error)]
pub enum Loss {
    #[error("there is no memory for a chunk of {}", .0.display())]
    Memory(PathBuf),
    #[error("no thread for the dump: {0}")]
    Thread(#[source] io::Error),
    #[error("the callback took nothing for {} s", .0.as_secs())]
    Patience(Duration),
    #[error("the callback was removed before the end of {}", .0.display())]
    CallbackGone(PathBuf),
    #[error("{} cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}
