use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;

use opscope_job::benchmark::{UnfinishedOutput, unfinished_outputs};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

/// What the child reports about itself, one entry per line. It is a file in memory, so that it outlives the child.
pub struct Journal(File);

/// A line of the journal.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    doing: String,
    has_results: bool,
    outputs: Vec<UnfinishedOutput>,
    is_done: bool,
}

/// What the journal of a dead child says.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LastWords {
    /// What it was doing.
    pub doing: Option<String>,
    /// Whether its outputs are worth keeping.
    pub has_results: bool,
    /// Every output that it had begun.
    pub outputs: Vec<UnfinishedOutput>,
    /// Whether it completed. If not, but its exit code is 0, a library ended it.
    pub is_done: bool,
}

impl Journal {
    /// Makes a journal that a child inherits.
    pub fn create() -> io::Result<Self> {
        Ok(Self(memfd_create(c"opscope-journal", MemfdFlags::empty())?.into()))
    }

    /// Returns the number of its descriptor, here and in a child.
    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Opens the journal that this process inherited.
    pub fn join(descriptor: u32) -> io::Result<Self> {
        File::options().append(true).open(format!("/proc/self/fd/{descriptor}")).map(Self)
    }

    /// Writes a line. If that fails, the error of a crash only lacks these details.
    pub fn note(&self, doing: String, has_results: bool) {
        self.write(&Entry { doing, has_results, outputs: unfinished_outputs(), is_done: false });
    }

    /// Writes that the command has completed.
    pub fn end(&self) {
        self.write(&Entry { doing: String::new(), has_results: false, outputs: Vec::new(), is_done: true });
    }

    fn write(&self, entry: &Entry) {
        if let Ok(mut line) = serde_json::to_vec(entry) {
            line.push(b'\n');
            let _ = (&self.0).write_all(&line);
        }
    }

    /// Reads the whole journal. An incomplete line is skipped.
    pub fn last_words(mut self) -> LastWords {
        let mut text = Vec::new();
        let _ = self.0.seek(SeekFrom::Start(0)).and_then(|_| self.0.read_to_end(&mut text));
        let mut words = LastWords::default();
        for entry in text.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice::<Entry>(line).ok()) {
            if entry.is_done {
                words.is_done = true;
                continue;
            }
            words.doing = Some(entry.doing);
            words.has_results |= entry.has_results;
            let new: Vec<_> = entry.outputs.into_iter().filter(|output| !words.outputs.contains(output)).collect();
            words.outputs.extend(new);
        }
        words
    }
}
