use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opscope::dump::ascend::{ChunkTarget, FileName};
use opscope::dump::{Closed, DumpError, Ending};

use super::chunk::{Chunk, LONGEST_NAME};
use super::loss::Loss;
use super::queue;
use super::statistics::STATISTICS;
use crate::border::say;

/// Receives the chunks of a model's files, and pushes them into the queue.
pub struct ModelTarget {
    /// The directory of the dump.
    pub directory: PathBuf,
    /// The model's id, which is part of the paths.
    pub model_id: u32,
    /// Whether files are written if there is no callback.
    pub to_disk: bool,
    /// The data index of each dumped run, by the run's number. Indices count up from 0.
    pub runs: HashMap<u64, usize>,
    /// The stream of the run in progress.
    pub stream: Arc<AtomicI32>,
}

impl ChunkTarget for ModelTarget {
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), DumpError> {
        let within = self.path(path);
        let path = self.directory.join(within);
        let put = match Chunk::new(&called(&path), bytes, last) {
            Some(chunk) => queue::put(chunk, path, self.to_disk),
            None => Err(Loss::Memory(path)),
        };
        put.map_err(|loss| DumpError::Target(loss.into()))
    }

    fn stream(&self) -> u64 {
        u64::try_from(self.stream.load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn broken(&mut self, path: &Path) {
        let within = self.path(path);
        queue::put_broken(self.directory.join(within));
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        // Tensors that were not dumped appear in no count of chunks.
        if let Some(reason) = &ending.stopped {
            say(format_args!("the dump of model {} ended early: {reason}", self.model_id));
        }
        Closed::default()
    }
}

impl ModelTarget {
    /// Returns the path of a file in the dump, `<device>/<model name>/<model id>/<data index>/<file>`. The path that
    /// the sink passes has the numbers of the plan and the run instead of the last two numbers.
    fn path(&mut self, given: &Path) -> PathBuf {
        let parts: Vec<_> = given.components().filter_map(normal).collect();
        let [device, name, _plan, run, file] = parts[..] else { return given.to_owned() };
        let next = self.runs.len();
        let run = run.to_str().and_then(|run| run.parse().ok()).unwrap_or(0);
        let index = *self.runs.entry(run).or_insert(next);
        Path::new(device).join(name).join(self.model_id.to_string()).join(index.to_string()).join(file)
    }
}

/// Returns the path that callbacks receive for a file. If it is too long for a chunk, digits replace the file's name.
fn called(path: &Path) -> Cow<'_, Path> {
    if path.as_os_str().len() < LONGEST_NAME {
        return path.into();
    }
    let full = path.file_name().unwrap_or_default().to_string_lossy();
    let (name, ending) = ending(&full);
    let digits = FileName::parse(name).map_or_else(String::new, |name| name.digits());
    path.with_file_name(digits + ending).into()
}

/// Splits a file's name into the part before its ending, and the ending if it is that of a table of statistics.
fn ending(name: &str) -> (&str, &str) {
    name.strip_suffix(STATISTICS).map_or((name, ""), |name| (name, STATISTICS))
}

fn normal(part: Component<'_>) -> Option<&OsStr> {
    match part {
        Component::Normal(part) => Some(part),
        _ => None,
    }
}
