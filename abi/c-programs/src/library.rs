//! The libraries of `abi/`, linked from the archives that cargo built along with the test.

use std::fs::{self, File};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::command::succeeds;

/// A crate of `abi/`, with the libraries that are linked from its archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    /// libascendcl.
    AscendCl,
    /// libcudadebugger.
    Cudbg,
    /// libopscope.
    Opscope,
    /// libopscope_ort.
    Ort,
    /// librocprofiler-sdk.
    RocprofilerSdk,
    /// librocprofiler64.
    RocprofilerV2,
    /// librocprofiler-sdk-roctx and libroctx64.
    Roctx,
}

/// How many there are.
const LIBRARIES: usize = Library::Roctx as usize + 1;

/// Returns the directory of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the directory of the models.
pub fn models() -> PathBuf {
    repository().join("models")
}

/// Returns the directory of `opscope_producer.h`.
pub fn producer_include() -> PathBuf {
    repository().join("crates/producer/include")
}

/// Returns the directory for compiled programs and linked libraries, inside cargo's target directory.
pub fn built() -> PathBuf {
    directory_of_this_program().parent().expect("the directory of the profile").join("c-programs")
}

fn directory_of_this_program() -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    program.parent().expect("its directory").to_owned()
}

impl Library {
    /// Returns the name of its directory in `abi/`, and of the library that cargo knows.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::AscendCl => ("ascendcl", "opscope_ascendcl"),
            Self::Cudbg => ("cudbg", "opscope_cudbg"),
            Self::Opscope => ("opscope", "opscope_c"),
            Self::Ort => ("ort", "opscope_ort"),
            Self::RocprofilerSdk => ("rocprofiler-sdk", "opscope_rocprofiler_sdk"),
            Self::RocprofilerV2 => ("rocprofiler-v2", "opscope_rocprofiler_v2"),
            Self::Roctx => ("roctx", "opscope_roctx"),
        }
    }

    /// Returns the directory of its crate.
    pub fn root(self) -> PathBuf {
        repository().join("abi").join(self.names().0)
    }

    /// Returns the directory of its headers.
    pub fn include(self) -> PathBuf {
        self.root().join("include")
    }

    /// Returns the options with which a compiler finds its headers and `opscope_producer.h`.
    pub fn header_options(self) -> [String; 2] {
        [self.include(), producer_include()].map(|directory| format!("-I{}", directory.display()))
    }

    /// Returns the directory of its shared libraries, which are linked once per process, and only if they are out of
    /// date.
    pub fn files(self) -> &'static Path {
        static LINKED: [OnceLock<PathBuf>; LIBRARIES] = [const { OnceLock::new() }; LIBRARIES];
        LINKED[self as usize].get_or_init(|| self.link())
    }

    /// Returns the option with which a program finds the libraries when it runs.
    pub fn rpath(self) -> String {
        format!("-Wl,-rpath,{}", self.files().display())
    }

    fn link(self) -> PathBuf {
        let ((name, package), root) = (self.names(), self.root());
        let output = built().join("lib").join(name);
        fs::create_dir_all(&output).expect("a directory");
        // Other test processes may do the same at the same time.
        let lock = File::create(output.join(".lock")).expect("a lock");
        lock.lock().expect("the lock");
        let (archive, script) = (archive(package), repository().join("scripts/link-library"));
        let made = output.join(".made");
        let age = |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).ok();
        let mut sources = [archive.clone(), script.clone()].into_iter().chain(descriptions(&root));
        if age(&made).is_none() || sources.any(|source| age(&source) > age(&made)) {
            succeeds(Command::new(script).arg(name).arg(archive).arg(&output));
            File::create(made).expect("a file");
        }
        output
    }
}

/// Returns the files that describe the crate's library, or each of its libraries, and the C sources of the library that
/// is installed beside it.
fn descriptions(root: &Path) -> impl Iterator<Item = PathBuf> {
    let several = fs::read_dir(root.join("libraries")).into_iter().flatten().flatten().map(|entry| entry.path());
    let places = iter::once(root.to_owned()).chain(several);
    let beside = fs::read_dir(root.join("libcuda")).into_iter().flatten().flatten().map(|entry| entry.path());
    places.flat_map(|place| [place.join("library"), place.join("exports.map")]).chain(beside)
}

/// Returns the archive that cargo built along with this program: the newest beside it.
fn archive(package: &str) -> PathBuf {
    let files = fs::read_dir(directory_of_this_program()).expect("its files").flatten();
    let start = format!("lib{package}-");
    let is_archive = |name: &str| name.starts_with(&start) && name.ends_with(".a");
    let archives = files.filter(|file| file.file_name().to_str().is_some_and(is_archive));
    let newest = archives.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok());
    let newest = newest.unwrap_or_else(|| panic!("no {start}*.a: the test does not depend on that crate"));
    newest.path()
}
