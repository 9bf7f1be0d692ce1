//! The file with the names of a recording, those of threads among them.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use opscope_files::open_to_append;
use opscope_sys::{Mutex, MutexGuard};
use opscope_trace::{Kind, NameId, RecordRef, ThreadId, current_thread, name_text};

use super::names::{NAMES, NamesLine};
use crate::ProfileError;

/// The maximum size of the file that is read.
pub(super) const LARGEST_NAMES: u64 = 1 << 30;

/// The names file while it grows. If a write fails, no more lines are written, and the complete ones are kept.
pub(crate) struct NamesFile(Mutex<State>);

struct State {
    file: File,
    failure: Option<String>,
    /// The threads that were seen, including those without a name.
    threads: HashSet<ThreadId>,
}

/// Writes the names that records refer to by number before the records themselves are written. So even in a truncated
/// recording, all records have their names.
pub(crate) struct Mentions {
    names: Arc<NamesFile>,
    /// The thread of the last record, which is probably that of the next one.
    thread: ThreadId,
    texts: HashSet<(Kind, NameId)>,
    /// The texts of the process that emitted the records, if that is not this process.
    theirs: Option<BTreeMap<NameId, String>>,
}

impl NamesFile {
    /// Creates the file, with its first line.
    pub(crate) fn create(directory: &Path) -> Result<Self, ProfileError> {
        let path = directory.join(NAMES);
        let file = new_file(&path)?;
        NamesLine::header().write(&file).map_err(ProfileError::io("write", &path))?;
        Ok(Self::of(file))
    }

    /// Opens the file that another process left, and removes an incomplete last line.
    pub(crate) fn longer(directory: &Path) -> Result<Self, ProfileError> {
        let path = directory.join(NAMES);
        let text = opscope_files::read(&path, LARGEST_NAMES).map_err(ProfileError::io("read", &path))?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let file = open_to_append(&path).map_err(ProfileError::io("write", &path))?;
        file.set_len(whole as u64).map_err(ProfileError::io("write", &path))?;
        Ok(Self::of(file))
    }

    fn of(file: File) -> Self {
        Self(Mutex::new(State { file, failure: None, threads: HashSet::new() }))
    }

    /// Adds a line.
    pub(crate) fn add(&self, line: &NamesLine) {
        self.lock().add(line);
    }

    /// Adds the name of a thread, if the thread is new and has one.
    pub(crate) fn thread(&self, thread: ThreadId, name: impl FnOnce() -> Option<String>) {
        let mut state = self.lock();
        if state.threads.insert(thread)
            && let Some(name) = name()
        {
            state.add(&NamesLine::Thread { thread: thread.0, name });
        }
    }

    /// Returns why lines are missing.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn add(&mut self, line: &NamesLine) {
        if self.failure.is_none()
            && let Err(error) = line.write(&self.file)
        {
            self.failure = Some(format!("{NAMES} could not be written: {error}"));
        }
    }
}

impl Mentions {
    pub(crate) fn new(names: Arc<NamesFile>) -> Self {
        Self { names, thread: ThreadId(0), texts: HashSet::new(), theirs: None }
    }

    /// Works like `new`, but for the records of a process that has ended, with the texts of that process. The names of
    /// its threads are no longer available.
    pub(crate) fn of_ended_process(names: Arc<NamesFile>, texts: BTreeMap<NameId, String>) -> Self {
        Self { theirs: Some(texts), ..Self::new(names) }
    }

    /// Writes those names that this record refers to which are new.
    pub(crate) fn record(&mut self, record: &RecordRef<'_>) {
        if let (Some(kind), Some(name)) = (record.kind(), record.text()) {
            self.text(kind, name);
        }
        if let Some(thread) = record.thread()
            && thread != self.thread
            && self.theirs.is_none()
        {
            self.thread = thread;
            self.names.thread(thread, || name_of_thread(thread));
        }
    }

    fn text(&mut self, kind: Kind, name: NameId) {
        if self.texts.insert((kind, name))
            && let Some(text) = self.text_of(name)
        {
            // The text of a counter also contains its unit. Any other text is only a name.
            let is_counter = kind == Kind::Counter;
            let line = if is_counter { NamesLine::counter(name, &text) } else { NamesLine::marker(name, &text) };
            self.names.add(&line);
        }
    }

    fn text_of(&self, name: NameId) -> Option<Arc<str>> {
        match &self.theirs {
            None => name_text(name),
            Some(texts) => texts.get(&name).map(|text| text.as_str().into()),
        }
    }
}

pub(super) fn new_file(path: &Path) -> Result<File, ProfileError> {
    OpenOptions::new().write(true).create_new(true).open(path).map_err(ProfileError::io("create", path))
}

/// Returns the name of the calling thread: the one with which it was started, `main` for the first thread of the
/// process, or the system's name for it. `None` if it has no name.
pub(crate) fn name_of_this_thread() -> Option<String> {
    match std::thread::current().name() {
        Some(name) => Some(name.to_owned()),
        None => name_of_thread(current_thread()),
    }
}

/// Returns the name of a live thread of this process.
pub(crate) fn name_of_thread(thread: ThreadId) -> Option<String> {
    if thread.0 == std::process::id() {
        return Some("main".to_owned());
    }
    let name = fs::read_to_string(format!("/proc/self/task/{}/comm", thread.0)).ok()?;
    // A thread without its own name has that of the process.
    let of_process = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    (name != of_process).then(|| name.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_names_that_they_were_started_with() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let worker = std::thread::Builder::new().name("a worker with a long name".to_owned()).spawn(move || {
            sender.send((current_thread(), name_of_this_thread())).expect("the test receives it");
            // The wait ends when the other side is dropped.
            let _ = held.recv();
        });
        let (thread, own) = receiver.recv().expect("a thread");
        assert_eq!(own.as_deref(), Some("a worker with a long name"));
        // The system keeps 15 characters.
        assert_eq!(name_of_thread(thread).as_deref(), Some("a worker with a"));
        assert_eq!(name_of_thread(ThreadId(std::process::id())).as_deref(), Some("main"));
        drop(hold);
        worker.expect("a thread").join().expect("no panic");
    }
}
