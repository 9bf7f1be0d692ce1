use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use opscope::engine::EngineName;
use rustix::process::geteuid;

use super::refusal::Refusal;

/// The environment variables that options read.
#[derive(Debug, Clone, Default)]
pub struct Environment(HashMap<OsString, OsString>);

impl Environment {
    const ENGINE: &str = "OPSCOPE_ENGINE";

    /// The names that the switch for raw recordings has had over time; one of them was misspelt for years.
    const RAW_ONLY: [&str; 4] =
        ["GE_PROFILING_TO_STD_OUT", "GE_PROFILIGN_TO_STD_OUT", "AIT_NO_MSPROF_MODE", "MSIT_NO_MSPROF_MODE"];

    /// Returns the directory of results that later commands can reuse: `$XDG_CACHE_HOME/opscope`, or
    /// `~/.cache/opscope`. Returns `None` without a home directory, and for a directory that other users may write to,
    /// because its content cannot be trusted.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        let directory = |name: &str| self.0.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = directory("XDG_CACHE_HOME").or_else(|| {
            let home = directory("HOME").filter(|home| home.is_dir());
            Some(home?.join(".cache"))
        })?;
        Some(caches.join("opscope")).filter(|directory| is_private(directory))
    }

    /// Returns whether a variable chooses the engine.
    pub fn chooses_engine(&self) -> bool {
        self.0.get(OsStr::new(Self::ENGINE)).is_some_and(|value| !value.is_empty())
    }

    /// Returns the engine that runs models if no option chooses one: that of `OPSCOPE_ENGINE`, or the embedded one.
    pub(super) fn engine(&self) -> Result<EngineName, Refusal> {
        let Some(value) = self.0.get(OsStr::new(Self::ENGINE)).filter(|value| !value.is_empty()) else {
            return Ok(EngineName::default());
        };
        value.to_string_lossy().parse().map_err(|error| Refusal::unreadable(Self::ENGINE, error))
    }

    /// Returns the first variable that requests a raw recording without exports: one of four names, with the value `1`.
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

/// Returns whether only this user can write to a directory, or it does not exist yet.
fn is_private(directory: &Path) -> bool {
    match directory.metadata() {
        Ok(found) => found.is_dir() && found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0,
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    #[test]
    fn results_are_kept_in_a_home_that_exists_and_in_directories_that_nobody_else_writes() {
        let place = tempfile::tempdir().unwrap();
        let of = |name: &str, path: &Path| {
            Environment::from_iter([(OsString::from(name), path.as_os_str().to_owned())]).cache_directory()
        };
        let (home, cache) = (place.path().join("home"), place.path().join("cache/opscope"));
        assert_eq!(of("HOME", &home), None, "it would be made");
        fs::create_dir(&home).unwrap();
        assert_eq!(of("HOME", &home), Some(home.join(".cache/opscope")));
        let of_cache = || of("XDG_CACHE_HOME", &place.path().join("cache"));
        assert_eq!(of_cache(), Some(cache.clone()), "it is made when something is kept");
        fs::create_dir_all(&cache).unwrap();
        fs::set_permissions(&cache, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(of_cache(), Some(cache.clone()));
        for mode in [0o775, 0o757] {
            fs::set_permissions(&cache, Permissions::from_mode(mode)).unwrap();
            assert_eq!(of_cache(), None, "{mode:o}");
        }
        fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
        // Only root can change a directory's owner.
        if chown(&cache, Some(65_534), None).is_ok() {
            assert_eq!(of_cache(), None, "another user's");
        }
    }
}
