//! What is configured at the moment, in this process.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope::acl_json::{AclConfig, DumpSection};

/// What models that are loaded now are dumped with.
#[derive(Clone)]
pub struct Settings {
    /// The section of the file; `None` for the outputs of all operators, without a file.
    pub section: Option<AclConfig>,
    /// The directory of the dump: `<dump_path>/<YYYYMMDDHHMMSS>`.
    pub directory: PathBuf,
}

/// The state of the dump functions.
#[derive(Default)]
pub struct State {
    /// How often `aclInit` was called.
    pub inits: u64,
    /// What the first of these calls was given.
    pub first: Option<Vec<u8>>,
    /// What the file of `aclInit` says.
    pub by_init: Option<Settings>,
    /// Whether `aclmdlInitDump` was called.
    pub is_dumping: bool,
    /// What the file of `aclmdlSetDump` says.
    pub by_set: Option<Settings>,
    /// The default of `aclmdlInitDump`.
    default: Option<Settings>,
    /// The directory that `acldumpGetPath` answers with.
    pub path: Option<PathBuf>,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);

pub fn lock() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks at the state, or changes it.
pub fn with_state<R>(body: impl FnOnce(&mut State) -> R) -> R {
    body(lock().get_or_insert_default())
}

impl State {
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
        self.by_set.clone().or(by_init).or_else(|| self.default.clone())
    }
}

impl Settings {
    /// Settings of a file with a dump section.
    pub fn of(config: AclConfig) -> Option<Self> {
        let directory = config.dump.as_ref()?.path.join(time());
        Some(Self { section: Some(config), directory })
    }

    /// Returns the section of the file.
    pub fn dump(&self) -> Option<&DumpSection> {
        self.section.as_ref()?.dump.as_ref()
    }
}

/// Returns the local time, as directories of dumps are named: `YYYYMMDDHHMMSS`.
fn time() -> String {
    // SAFETY: the structure is filled by the call, which takes the time of the first.
    unsafe {
        let now = libc::time(std::ptr::null_mut());
        let mut local: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const now, &raw mut local);
        let (year, month) = (local.tm_year + 1900, local.tm_mon + 1);
        format!("{year:04}{month:02}{:02}{:02}{:02}{:02}", local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec)
    }
}
