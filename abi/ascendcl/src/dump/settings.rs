//! What is configured at the moment, in this process.

use std::path::{Path, PathBuf};

use opscope::local_time;
use opscope_acl_json::{AclConfig, DumpSection};

use crate::forks::Shared;

/// What models that are loaded now are dumped with.
#[derive(Clone)]
pub struct Settings {
    /// The section of the file; `None` for the outputs of all operators, without a file.
    pub section: Option<DumpSection>,
    /// The directory of the dump: `<dump_path>/<YYYYMMDDHHMMSS>`.
    pub directory: PathBuf,
}

/// The state of the dump functions.
pub struct State {
    /// What the file of `aclInit` says.
    pub by_init: Option<Settings>,
    /// Whether `aclmdlInitDump` was called.
    pub is_dumping: bool,
    /// What the file of `aclmdlSetDump` says, if it was called; `None` within if that dumps nothing.
    pub by_set: Option<Option<Settings>>,
    /// The default of `aclmdlInitDump`.
    default: Option<Settings>,
    /// The directory that `acldumpGetPath` answers with.
    pub path: Option<PathBuf>,
    /// The directory for what belongs to exceptions, if a file switched their dump on.
    pub exceptions: Option<PathBuf>,
}

pub static SETTINGS: Shared<State> = Shared::new(State::new(), || SETTINGS.held(|_| {}));

impl State {
    const fn new() -> Self {
        Self { by_init: None, is_dumping: false, by_set: None, default: None, path: None, exceptions: None }
    }

    /// Begins to dump.
    pub fn begin(&mut self) {
        self.is_dumping = true;
        self.by_set = None;
        self.default = Some(Settings { section: None, directory: Path::new("./").join(time()) });
    }

    /// Ends it.
    pub fn end(&mut self) {
        (self.is_dumping, self.by_set, self.default) = (false, None, None);
    }

    /// What a model that is loaded now is dumped with.
    pub fn settings(&self) -> Option<Settings> {
        let by_init = self.by_init.clone();
        if !self.is_dumping {
            return by_init;
        }
        self.by_set.clone().unwrap_or_else(|| by_init.or_else(|| self.default.clone()))
    }
}

impl Settings {
    /// Settings of a file with a dump section.
    pub fn of(config: &AclConfig) -> Option<Self> {
        let section = config.dump.clone()?;
        Some(Self { directory: section.path.join(time()), section: Some(section) })
    }
}

/// Returns the local time, as directories of dumps are named: `YYYYMMDDHHMMSS`.
fn time() -> String {
    local_time().format("%Y%m%d%H%M%S").to_string()
}
