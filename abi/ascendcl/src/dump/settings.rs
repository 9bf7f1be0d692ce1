//! The current dump settings of this process, and where they send the chunks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use opscope::dump::ascend::{ChunkTarget, FileName};
use opscope::dump::{Closed, DumpError, Ending};
use opscope::local_time;
use opscope_acl_json::{AclConfig, DumpSection};

use super::chunk::{Chunk, LONGEST_NAME};
use super::delivery::Loss;
use super::queue;
use super::statistics::STATISTICS;
use crate::border::say;
use crate::forks::Shared;

/// The settings for models that are loaded now.
#[derive(Clone)]
pub struct Settings {
    /// The section of the file. Without a file, `None`, which means the outputs of all operators.
    pub section: Option<DumpSection>,
    /// The directory of the dump: `<dump_path>/<YYYYMMDDHHMMSS>`.
    pub directory: PathBuf,
}

/// The state of the dump functions.
pub struct State {
    /// The settings in the file of `aclInit`.
    pub by_init: Option<Settings>,
    /// Whether `aclmdlInitDump` was called.
    pub is_dumping: bool,
    /// The settings in the file of `aclmdlSetDump`, if it was called; the inner `None` if that file dumps nothing.
    pub by_set: Option<Option<Settings>>,
    /// The settings that apply after `aclmdlInitDump` if no file sets others.
    default: Option<Settings>,
    /// The directory that `acldumpGetPath` returns.
    pub path: Option<PathBuf>,
    /// The directory for the data of exceptions, if a file switched their dump on.
    pub exceptions: Option<PathBuf>,
}

pub static SETTINGS: Shared<State> = Shared::new(State::new(), || SETTINGS.held(|_| {}));

impl State {
    const fn new() -> Self {
        Self { by_init: None, is_dumping: false, by_set: None, default: None, path: None, exceptions: None }
    }

    /// Notes that `aclmdlInitDump` was called.
    pub fn begin(&mut self) {
        self.is_dumping = true;
        self.by_set = None;
        self.default = Some(Settings { section: None, directory: Path::new("./").join(time()) });
    }

    /// Undoes `begin`.
    pub fn end(&mut self) {
        (self.is_dumping, self.by_set, self.default) = (false, None, None);
    }

    /// Returns the settings for a model that is loaded now.
    pub fn settings(&self) -> Option<Settings> {
        let by_init = self.by_init.clone();
        if !self.is_dumping {
            return by_init;
        }
        self.by_set.clone().unwrap_or_else(|| by_init.or_else(|| self.default.clone()))
    }
}

impl Settings {
    /// Returns the settings of a file; `None` if it has no dump section.
    pub fn of(config: &AclConfig) -> Option<Self> {
        let section = config.dump.clone()?;
        Some(Self { directory: section.path.join(time()), section: Some(section) })
    }
}

/// Returns the local time in the form of the directories' names: `YYYYMMDDHHMMSS`.
fn time() -> String {
    local_time().format("%Y%m%d%H%M%S").to_string()
}

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
