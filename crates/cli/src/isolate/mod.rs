//! `--isolate`: the job runs in a child of the command, so that a crash inside of an engine's library is an error like any other.
//!
//! The child is the same program with the same arguments and the same standard input and outputs. It notes in a [journal](journal)
//! what it does. Where it dies of a signal, or ends as if all were done without saying so, the parent prints one error, and finishes
//! the files that the child had begun.

mod journal;
mod parent;
mod signals;

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;
use std::sync::OnceLock;

use rustix::process::Pid;

use self::journal::Journal;
pub use self::signals::UserSignals;
use crate::child::die_with;
use crate::exit::Failure;

/// The first word after the program's name in the child: the parent's number, and the descriptor of the journal.
const CHILD: &str = "--isolated-by=";

/// What this process tells its parent; not set outside of a child.
static JOURNAL: OnceLock<Journal> = OnceLock::new();

/// Tells the parent that the command has come to its end. Whatever ends the process with code 0 calls it.
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

/// The process in which the job runs: with `--isolate` a child of the command.
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

    /// The words that the user wrote, the program's name first.
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// Continues in a child process if that is `wanted`: then this returns in the child alone. The parent ends as the child ends.
    ///
    /// # Errors
    /// Returns an error in the parent, if there can be no child or it died of a signal.
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

/// Lets this process die with its parent, and returns the journal that it writes for it.
fn join(child: &str) -> Result<Journal, Failure> {
    let wrong = || Failure::wrong_use(format!("{CHILD} is for the command itself; write --isolate"));
    let (parent, descriptor) = child.split_once(',').ok_or_else(wrong)?;
    let parent = parent.parse().ok().and_then(Pid::from_raw).ok_or_else(wrong)?;
    let failed = |error: &dyn Display| Failure::failed(format!("the job cannot be isolated: {error}"));
    die_with(parent).map_err(|error| failed(&error))?;
    Journal::join(descriptor.parse().map_err(|_| wrong())?).map_err(|error| failed(&error))
}

impl Isolation {
    /// Notes what the process does, for the error of a crash, and the outputs that it has begun. `has_results` says that these are
    /// worth keeping.
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
