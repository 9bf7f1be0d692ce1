use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::objects;

/// The names of libraries that may be consumers.
pub const LIBRARY_NAMES: [&str; 2] = ["librocprofiler-sdk.so.1", "librocprofiler64.so.2"];

/// The environment variable that names a directory of consumers.
pub const LIBRARY_DIRECTORY: &str = "OPSCOPE_LIB_DIR";

/// The directory, below an installation's `lib`, of the libraries with vendors' names. An installation puts them there
/// unless they are requested by name.
const VENDOR_DIRECTORY: &str = "opscope/vendor";

/// The libraries to search for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// File names. For each name, one library is attached: one that is loaded already, or else the first that is found.
    pub names: Vec<String>,
    /// The user's directory, which is searched first.
    pub named: Option<PathBuf>,
    /// The directories that belong to the producer.
    pub beside: Vec<PathBuf>,
    /// The user's tools: shared libraries that one of the consumers should load.
    pub tools: Vec<PathBuf>,
}

impl Search {
    /// Returns a search for the [known names](LIBRARY_NAMES) in the directory that `OPSCOPE_LIB_DIR` names, and in
    /// those that belong to the producer. For an executable, these are its own directory, `../lib` and
    /// `../lib/opscope/vendor`. For a shared library, they are its own directory, and `opscope/vendor` in it.
    pub fn of_this_process() -> Self {
        Self { names: LIBRARY_NAMES.map(str::to_owned).to_vec(), named: named(), beside: beside(), tools: Vec::new() }
    }

    /// Returns the directories that are searched, in this order.
    pub fn places(&self) -> impl Iterator<Item = &Path> {
        self.named.iter().chain(&self.beside).map(PathBuf::as_path)
    }
}

/// As with the loader's own variables, this one is ignored in a program with more privileges than its user.
fn named() -> Option<PathBuf> {
    let value: OsString = std::env::var_os(LIBRARY_DIRECTORY)?;
    (!value.is_empty() && !objects::has_more_rights_than_its_user()).then(|| PathBuf::from(value))
}

fn beside() -> Vec<PathBuf> {
    let is_library = objects::own_library();
    let file = is_library.clone().or_else(|| std::env::current_exe().ok()).and_then(|file| file.canonicalize().ok());
    let Some(directory) = file.as_deref().and_then(Path::parent) else { return Vec::new() };
    let lib = directory.parent().map(|prefix| prefix.join("lib")).filter(|_| is_library.is_none());
    let vendor = lib.as_deref().unwrap_or(directory).join(VENDOR_DIRECTORY);
    [directory.to_owned()].into_iter().chain(lib).chain([vendor]).collect()
}
