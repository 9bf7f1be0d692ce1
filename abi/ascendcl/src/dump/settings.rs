//! The current dump settings of this process.

use std::path::{Path, PathBuf};

use opscope::local_time;
use opscope_acl_json::{AclConfig, DumpSection};

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
