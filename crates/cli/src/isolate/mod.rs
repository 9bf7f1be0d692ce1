//! `--isolate`: the job runs in a child of the command, so that a crash inside an engine's library is an error like any
//! other.
//!
//! The child is the same program with the same arguments, standard input and outputs. It writes its progress into a
//! [journal](journal). If it dies of a signal, or ends with success before it has completed, the parent prints one
//! error, and finishes the files that the child had begun.

mod parent;

use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::OnceLock;

use opscope_job::benchmark::{UnfinishedOutput, unfinished_outputs};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::again::die_with;
use crate::exit::Failure;
pub use parent::UserSignals;

/// The first word after the program's name in the child. Its value is the parent's number and the descriptor of the
/// journal.
const CHILD: &str = "--isolated-by=";

/// What this process reports to its parent; only set in a child.
static JOURNAL: OnceLock<Journal> = OnceLock::new();

/// Reports to the parent that the command has completed. Called before every exit with code 0.
pub fn done() {
    if let Some(journal) = JOURNAL.get() {
        journal.end();
    }
}

/// How this process was started.
pub struct Invocation {
    words: Vec<OsString>,
    child: Option<String>,
}

/// The process in which the job runs: with `--isolate`, a child of the command.
#[derive(Default)]
pub struct Isolation {
    journal: Option<&'static Journal>,
}

impl Invocation {
    /// Takes the words of the command line.
    pub fn new(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut words: Vec<OsString> = words.into_iter().collect();
        let child = words.get(1).and_then(|word| word.to_str()?.strip_prefix(CHILD).map(str::to_owned));
        if child.is_some() {
            words.remove(1);
        }
        Self { words, child }
    }

    /// Returns the words of the user, with the program's name first.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// If `wanted`, continues in a child process: then this function returns only in the child, and the parent ends as
    /// the child ends.
    ///
    /// # Errors
    /// Returns an error in the parent if no child can be started, or if the child died of a signal or ended with code 0
    /// before it had completed. Returns an error in the child if it cannot reach the parent or the journal.
    pub fn isolate(&self, wanted: bool, model: &Path) -> Result<Isolation, Failure> {
        match &self.child {
            _ if !wanted => Ok(Isolation::default()),
            None => Err(parent::supervise(&self.words, model)),
            Some(child) => {
                let journal = join(child)?;
                Ok(Isolation { journal: Some(JOURNAL.get_or_init(|| journal)) })
            }
        }
    }
}

/// Makes this process die with its parent, and returns the journal that it writes for the parent.
fn join(child: &str) -> Result<Journal, Failure> {
    let wrong = || Failure::wrong_use(format!("{CHILD} is for the command itself; write --isolate"));
    let (parent, descriptor) = child.split_once(',').ok_or_else(wrong)?;
    let parent = parent.parse().ok().and_then(Pid::from_raw).ok_or_else(wrong)?;
    let failed = |error: &dyn Display| Failure::failed(format!("the job cannot be isolated: {error}"));
    die_with(parent).map_err(|error| failed(&error))?;
    Journal::join(descriptor.parse().map_err(|_| wrong())?).map_err(|error| failed(&error))
}

impl Isolation {
    /// Notes what the process is doing, for the error of a crash, and the outputs that it has begun. `has_results` says
    /// whether these are worth keeping.
    pub fn note(&self, doing: impl Display, has_results: bool) {
        if let Some(journal) = self.journal {
            journal.note(doing.to_string(), has_results);
        }
    }

    /// Returns the signals of these kinds that the user sends.
    ///
    /// # Errors
    /// Returns an error if no handler can be installed.
    pub fn signals(&self, kinds: &[i32]) -> std::io::Result<UserSignals> {
        UserSignals::new(kinds, self.journal.is_some())
    }
}

/// What the child reports about itself, one entry per line. It is a file in memory, so that it outlives the child.
struct Journal(File);

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
struct LastWords {
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
