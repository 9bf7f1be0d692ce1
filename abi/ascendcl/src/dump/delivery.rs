//! Where chunks go in the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::chunk::Chunk;
use super::counts::Counts;
use super::files::Files;
use super::{slot, subscribers};

/// Gives chunks to the callbacks, or writes them to their files.
#[derive(Default)]
pub struct Delivery {
    files: Files,
    /// The files that have begun and not ended.
    begun: HashMap<PathBuf, Way>,
}

/// Where the chunks of a file go. It is decided with the first one: the end of a file alone is of no use to anyone.
enum Way {
    /// To the callback that was registered then, and to the subscribers that were there then.
    Callbacks {
        callback: Option<u64>,
        subscribers: Option<u64>,
    },
    Disk,
    /// Nobody asked for it.
    Nowhere,
    /// A chunk was lost, so the rest is, too.
    Lost,
}

impl Delivery {
    /// Delivers a chunk. `to_disk` says whether it goes to its file if there is no callback. Returns what to count, and why the chunk is
    /// lost if it is the first of its file that is.
    pub fn deliver(&mut self, chunk: &Chunk, path: &Path, to_disk: bool) -> (Counts, Option<String>) {
        let begun = self.begun.remove(path);
        let (is_first, mut way) = (begun.is_none(), begun.unwrap_or_else(|| Way::now(to_disk)));
        let mut given = way.give(chunk, path, &mut self.files);
        // A callback that was taken back this moment has nothing of the file yet.
        while is_first && given.is_err() && matches!(way, Way::Callbacks { .. }) {
            way = Way::now(to_disk);
            given = way.give(chunk, path, &mut self.files);
        }
        let (counts, reason) = match given {
            Ok(()) if matches!(way, Way::Nowhere) => (Counts::new(), None),
            Ok(()) if matches!(way, Way::Lost) => (Counts { lost_chunks: 1, ..Counts::new() }, None),
            Ok(()) => {
                let (files, bytes) = (chunk.is_last().into(), chunk.data().len() as u64);
                (Counts { files, chunks: 1, bytes, ..Counts::new() }, None)
            }
            Err(reason) => {
                way = Way::Lost;
                self.files.give_up(path);
                (Counts { incomplete_files: 1, lost_chunks: 1, ..Counts::new() }, Some(reason))
            }
        };
        if chunk.is_last() {
            subscribers::forget(path);
        } else {
            self.begun.insert(path.to_owned(), way);
        }
        (counts, reason)
    }

    /// No more chunks of a file come, and it has no last one.
    pub fn give_up(&mut self, path: &Path) -> Counts {
        self.files.give_up(path);
        subscribers::forget(path);
        let was_lost = matches!(self.begun.remove(path), Some(Way::Lost));
        Counts { incomplete_files: (!was_lost).into(), ..Counts::new() }
    }
}

impl Way {
    fn now(to_disk: bool) -> Self {
        match (slot::registration(), subscribers::newest()) {
            (None, None) if to_disk => Self::Disk,
            (None, None) => Self::Nowhere,
            (callback, subscribers) => Self::Callbacks { callback, subscribers },
        }
    }

    fn give(&self, chunk: &Chunk, path: &Path, files: &mut Files) -> Result<(), String> {
        match self {
            Self::Callbacks { callback, subscribers } => {
                let is_called = callback.is_some_and(|callback| slot::call_back(callback, chunk));
                let is_subscribed = subscribers.is_some_and(|newest| subscribers::call_back(newest, chunk, path));
                let gone = || format!("the callback was taken back before the end of {}", path.display());
                (is_called || is_subscribed).then_some(()).ok_or_else(gone)
            }
            Self::Disk => {
                let written = files.write(path, chunk.data(), chunk.is_last());
                written.map_err(|error| format!("{} cannot be written: {error}", path.display()))
            }
            Self::Nowhere | Self::Lost => Ok(()),
        }
    }
}
