use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use opscope::engine::EngineName;

use super::refusal::Refusal;

/// The environment variables that options read.
#[derive(Debug, Clone, Default)]
pub struct Environment(HashMap<OsString, OsString>);

impl Environment {
    /// The names that the switch for raw recordings had over time, one of them misspelt for years.
    const RAW_ONLY: [&str; 4] =
        ["GE_PROFILING_TO_STD_OUT", "GE_PROFILIGN_TO_STD_OUT", "AIT_NO_MSPROF_MODE", "MSIT_NO_MSPROF_MODE"];

    /// The directory of results that the next command can use again: `$XDG_CACHE_HOME/opscope`, or `~/.cache/opscope`.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        let directory = |name: &str| self.0.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = directory("XDG_CACHE_HOME").or_else(|| Some(directory("HOME")?.join(".cache")))?;
        Some(caches.join("opscope"))
    }

    /// The engine that runs models where no option chooses one: that of `OPSCOPE_ENGINE`, or the embedded one.
    pub(super) fn engine(&self) -> Result<EngineName, Refusal> {
        const NAME: &str = "OPSCOPE_ENGINE";
        let Some(value) = self.0.get(OsStr::new(NAME)).filter(|value| !value.is_empty()) else {
            return Ok(EngineName::default());
        };
        value.to_string_lossy().parse().map_err(|error| Refusal::unreadable(NAME, error))
    }

    /// The first variable that asks for a raw recording without exports: one of four names, with the value `1`.
    pub(super) fn raw_recording_only(&self) -> Option<&'static str> {
        let is_on = |name: &&str| self.0.get(OsStr::new(name)).is_some_and(|value| value == "1");
        Environment::RAW_ONLY.into_iter().find(is_on)
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    /// From names and values, such as `std::env::vars_os()`.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Environment {
        Environment(variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
