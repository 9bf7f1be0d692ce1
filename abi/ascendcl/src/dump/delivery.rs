//! The delivery of chunks to their destinations.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::chunk::Chunk;
use super::counts::Counts;
use super::files::Files;
use super::loss::Loss;
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
